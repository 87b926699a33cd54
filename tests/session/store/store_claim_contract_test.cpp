// Claims of pending calls.

#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

// A turn with three calls: `c1` waits for its answer, `c2` has one, `c3` waits for an approval.
changes turn_with_calls() {
    changes change;
    stored_message turn = user_message("m2", "", 0);
    turn.message.role = role::assistant;
    turn.message.tool_calls = {
        {"c1", "paint", "{}", {}, {}}, {"c2", "paint", "{}", {}, {}}, {"c3", "order", "{}", {}, {}}
    };
    change.messages.push_back(turn);
    change.branches.push_back({0, {.tip = 1, .updated_at = 2000}});
    change.calls = {
        {"c1", "paint", "run_1", call_owner::external, call_status::pending, 1},
        {"c2", "paint", "run_1", call_owner::external, call_status::answered, 1},
        {"c3", "order", "run_1", call_owner::server, call_status::asked, 1}
    };
    return change;
}

class ClaimContract : public StoreContract {
protected:
    void SetUp() override {
        StoreContract::SetUp();
        if (IsSkipped()) {
            return;
        }
        begin(thread_1, "run_1", user_turn("m1", "Paint"));
        done(subject().commit(thread_1, turn_with_calls()));
    }

    // The holder of the call after a claim for 30 s, `now` after the test's begin. Shared clocks
    // may differ by some milliseconds from call to call.
    std::string holder_after(std::string holder, unix_ms now, std::string call_id = "c1") {
        const unix_ms at = base_ + now;
        return get(subject().claim_call(
                       thread_1, {std::move(call_id), std::move(holder), at + 30'000}, at
                   ))
            .holder;
    }
    std::vector<unix_ms> claims() {
        std::vector<unix_ms> all;
        const auto pending = get(subject().pending_calls(thread_1)).value();
        for (const pending_call& each : pending) {
            all.push_back(each.claimed_until);
        }
        return all;
    }

    const unix_ms base_ = 1'800'000'000'000;
};

INSTANTIATE_TEST_SUITE_P(Stores, ClaimContract, test::all_stores(), [](const auto& info) {
    return name_of(info.param);
});

TEST_P(ClaimContract, TheFirstHolderKeepsItsClaimUntilItExpires) {
    EXPECT_EQ(claims(), (std::vector<unix_ms>{0, 0}));

    EXPECT_EQ(holder_after("tab 1", 0), "tab 1");
    EXPECT_EQ(holder_after("tab 2", 1'000), "tab 1");
    EXPECT_EQ(holder_after("tab 2", 29'000), "tab 1");
    EXPECT_EQ(holder_after("tab 2", 31'000), "tab 2");
    EXPECT_EQ(holder_after("tab 1", 31'000), "tab 2");
}

TEST_P(ClaimContract, ItsHolderRenewsIt) {
    EXPECT_EQ(holder_after("tab 1", 0), "tab 1");
    const unix_ms first = claims().at(0);
    EXPECT_GT(first, 0);

    EXPECT_EQ(holder_after("tab 1", 20'000), "tab 1");

    EXPECT_NEAR(static_cast<double>(claims().at(0) - first), 20'000, 1'000);
    EXPECT_EQ(claims().at(1), 0) << "of the call that waits for an approval";
    EXPECT_EQ(holder_after("tab 2", 49'000), "tab 1");
}

TEST_P(ClaimContract, ItsHolderGivesItUp) {
    const auto give_up = [this](std::string holder) {
        return get(subject().claim_call(
                       thread_1, {"c1", std::move(holder), base_ - 30'000}, base_ + 1'000
                   ))
            .holder;
    };
    EXPECT_EQ(give_up("tab 1"), "tab 1") << "without a claim";
    EXPECT_EQ(holder_after("tab 1", 0), "tab 1");

    EXPECT_EQ(give_up("tab 2"), "tab 1");
    EXPECT_EQ(holder_after("tab 2", 1'000), "tab 1");
    EXPECT_EQ(give_up("tab 1"), "tab 1");
    EXPECT_LT(claims().at(0), base_);
    EXPECT_EQ(holder_after("tab 2", 1'000), "tab 2");
}

TEST_P(ClaimContract, OnlyPendingCallsCanBeClaimed) {
    for (const char* const call : {"c2", "c3", "c4"}) {
        EXPECT_EQ(
            failure_of(subject().claim_call(thread_1, {call, "tab 1", base_ + 1}, base_)),
            errc::not_found
        ) << call;
    }
    EXPECT_EQ(
        failure_of(subject().claim_call(key_of("other"), {"c1", "tab 1", base_ + 1}, base_)),
        errc::not_found
    );
    changes answered;
    answered.calls = {{"c1", "paint", "run_1", call_owner::external, call_status::answered, 1}};
    done(subject().commit(thread_1, answered));
    EXPECT_EQ(
        failure_of(subject().claim_call(thread_1, {"c1", "tab 1", base_ + 1}, base_)),
        errc::not_found
    );
}

TEST_P(ClaimContract, ItOutlivesOtherChangesOfTheThread) {
    EXPECT_EQ(holder_after("tab 1", 0), "tab 1");
    const std::vector<unix_ms> before = claims();

    done(subject().commit(thread_1, user_turn("m3", "And?", 1, 3000)));

    EXPECT_EQ(claims(), before);
    EXPECT_EQ(holder_after("tab 2", 1'000), "tab 1");
}

} // namespace
} // namespace agui::session
