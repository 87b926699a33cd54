// Counted usage: reservations, their settlement, days and months.

#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

// 2026-11-29T12:00:00Z, and moments around the ends of its day and its month. The times of shared
// clocks may differ by some milliseconds from call to call.
constexpr unix_ms noon = 1'795'953'600'000;
constexpr unix_ms hour = 3'600'000;
constexpr unix_ms next_day = noon + 24 * hour;
constexpr unix_ms next_month = noon + 48 * hour;

usage_claim limited(std::string subject, std::int64_t day, std::int64_t month = 1'000'000) {
    return {
        std::move(subject),
        {.input_tokens = day, .output_tokens = {}, .micro_cost = {}},
        {.input_tokens = month, .output_tokens = {}, .micro_cost = {}}
    };
}

class UsageContract : public StoreContract {
protected:
    usage_reservation
    reserve(std::vector<usage_claim> claims, usage_amount amount, unix_ms now = noon) {
        return get(subject().reserve_usage(std::move(claims), amount, now));
    }
    bool fits(usage_claim claim, std::int64_t tokens, unix_ms now = noon) {
        return !reserve({std::move(claim)}, {tokens, 0, 0}, now).refused;
    }
    subject_usage used(std::string name, unix_ms now = noon) {
        return get(subject().read_usage({std::move(name)}, now)).subjects.at(0);
    }
};

INSTANTIATE_TEST_SUITE_P(Stores, UsageContract, test::all_stores(), [](const auto& info) {
    return name_of(info.param);
});

TEST_P(UsageContract, ReservesUpToALimitAndNotBeyondIt) {
    EXPECT_TRUE(fits(limited("a", 100), 60));
    EXPECT_FALSE(fits(limited("a", 100), 41));
    EXPECT_TRUE(fits(limited("a", 100), 40));
    EXPECT_FALSE(fits(limited("a", 100), 1));
    EXPECT_TRUE(fits(limited("b", 100), 100)) << "another subject has a count of its own";

    EXPECT_EQ(used("a").day, (usage_amount{100, 0, 0}));
    EXPECT_EQ(used("a").month, (usage_amount{100, 0, 0}));
    EXPECT_EQ(used("nobody").day, usage_amount());
}

TEST_P(UsageContract, LimitsEachCount) {
    const usage_claim claim{"a", {.input_tokens = {}, .output_tokens = 10, .micro_cost = 500}, {}};
    EXPECT_FALSE(reserve({claim}, {1'000, 10, 500}).refused);
    EXPECT_TRUE(reserve({claim}, {1, 1, 0}).refused);
    EXPECT_TRUE(reserve({claim}, {1, 0, 1}).refused);
    EXPECT_FALSE(reserve({claim}, {1, 0, 0}).refused) << "what costs nothing is allowed";
    EXPECT_EQ(used("a").day, (usage_amount{1'001, 10, 500}));
}

TEST_P(UsageContract, ReservesForAllSubjectsOrForNone) {
    EXPECT_FALSE(reserve({limited("z", 1'000), limited("a", 10)}, {10, 0, 0}).refused);

    const usage_reservation refused = reserve({limited("z", 1'000), limited("a", 10)}, {1, 0, 0});

    ASSERT_TRUE(refused.refused);
    EXPECT_EQ(refused.refused->claim, 1U);
    EXPECT_EQ(refused.refused->period, usage_period::day);
    EXPECT_EQ(used("z").day.input_tokens, 10);
    EXPECT_EQ(used("a").day.input_tokens, 10);
}

TEST_P(UsageContract, NamesTheMonthIfBothAreUsedUp) {
    EXPECT_TRUE(fits(limited("a", 10, 10), 10));

    const usage_reservation refused = reserve({limited("a", 10, 10)}, {1, 0, 0});

    ASSERT_TRUE(refused.refused);
    EXPECT_EQ(refused.refused->period, usage_period::month);
}

TEST_P(UsageContract, BeginsAnewWithEachDayAndMonth) {
    EXPECT_TRUE(fits(limited("a", 10, 15), 10));
    EXPECT_FALSE(fits(limited("a", 10, 15), 1));
    EXPECT_FALSE(fits(limited("a", 10, 15), 1, noon + 11 * hour)) << "the same day";

    EXPECT_FALSE(fits(limited("a", 10, 15), 6, next_day)) << "the month goes on";
    EXPECT_TRUE(fits(limited("a", 10, 15), 5, next_day));
    EXPECT_TRUE(fits(limited("a", 10, 15), 10, next_month));

    EXPECT_EQ(used("a", next_month).day.input_tokens, 10);
    EXPECT_EQ(used("a", next_month).month.input_tokens, 10);
}

TEST_P(UsageContract, SettlesWhatWasReserved) {
    const usage_reservation reserved = reserve({limited("a", 100), limited("b", 100)}, {60, 40, 7});

    done(subject().settle_usage({{"a", "b"}, reserved.at, {60, 40, 7}, {10, 50, 8}}));

    EXPECT_EQ(used("a").day, (usage_amount{10, 50, 8}));
    EXPECT_EQ(used("b").month, (usage_amount{10, 50, 8}));
    EXPECT_TRUE(fits(limited("a", 100), 90));
}

TEST_P(UsageContract, ASettlementMayExceedALimit) {
    const usage_reservation reserved = reserve({limited("a", 100)}, {60, 0, 0});

    done(subject().settle_usage({{"a"}, reserved.at, {60, 0, 0}, {130, 0, 0}}));

    EXPECT_EQ(used("a").day.input_tokens, 130);
    EXPECT_FALSE(fits(limited("a", 100), 1));
}

TEST_P(UsageContract, ALateSettlementBelongsToTheDayOfItsReservation) {
    const usage_reservation reserved = reserve({limited("a", 100)}, {60, 0, 0});
    EXPECT_TRUE(fits(limited("a", 100), 5, next_day));

    done(subject().settle_usage({{"a"}, reserved.at, {60, 0, 0}, {10, 0, 0}}));

    EXPECT_EQ(used("a", next_day).day.input_tokens, 5);
    EXPECT_EQ(used("a", next_day).month.input_tokens, 15);
}

TEST_P(UsageContract, AReservationOutlivesItsProcess) {
    EXPECT_TRUE(fits(limited("a", 100), 60));

    reopen();

    EXPECT_EQ(used("a").day.input_tokens, 60);
    EXPECT_FALSE(fits(limited("a", 100), 41));
}

TEST_P(UsageContract, AThousandReservationsAtOnceNeverExceedTheLimit) {
    std::atomic<int> reserved = 0;
    std::atomic<int> refused = 0;
    asio::thread_pool pool(4);
    for (int i = 0; i < 1'000; ++i) {
        // In different orders, so that two of them could wait for each other.
        std::vector<usage_claim> claims{limited("a", 10'000'000), limited("b", 300 * 7)};
        if (i % 2 == 0) {
            std::swap(claims[0], claims[1]);
        }
        asio::co_spawn(
            pool, subject().reserve_usage(std::move(claims), {7, 0, 0}, noon),
            [&](std::exception_ptr error, result<usage_reservation> outcome) {
                if (!error && outcome) {
                    ++(outcome->refused ? refused : reserved);
                }
            }
        );
    }
    pool.join();

    EXPECT_EQ(reserved, 300);
    EXPECT_EQ(refused, 700);
    EXPECT_EQ(used("a").day.input_tokens, 300 * 7);
    EXPECT_EQ(used("b").day.input_tokens, 300 * 7);
}

TEST_P(UsageContract, OldDaysAreDroppedAndTheCurrentMonthIsKept) {
    EXPECT_TRUE(fits(limited("a", 100), 60));

    done(subject().drop_logs({.ended_since = 0, .attached_since = 0, .now = noon}));
    EXPECT_EQ(used("a").day.input_tokens, 60);
    done(subject().drop_logs(
        {.ended_since = 0, .attached_since = 0, .now = noon + 500LL * 24 * hour}
    ));

    EXPECT_EQ(used("a").day, usage_amount());
    EXPECT_EQ(used("a").month, usage_amount());
}

TEST_P(UsageContract, SumsTheBytesOfAPrincipal) {
    const auto bytes_of = [this](std::string principal) {
        return get(subject().bytes_of_principal(std::move(principal)));
    };
    EXPECT_EQ(bytes_of("ada"), 0U);
    begin(key_of("t1", "ada"), "run_1", user_turn("m1", "Hello"));
    begin(key_of("t2", "ada"), "run_2", user_turn("m2", "Hello"));
    begin(key_of("t1", "eve"), "run_3", user_turn("m3", "Hello, hello"));

    EXPECT_EQ(bytes_of("ada"), load(key_of("t1", "ada")).bytes + load(key_of("t2", "ada")).bytes);
    EXPECT_EQ(bytes_of("eve"), load(key_of("t1", "eve")).bytes);

    // A file that waits for a message, of a thread that exists and of one that does not.
    const std::uint64_t before = bytes_of("ada");
    for (const char* const thread : {"t1", "t9"}) {
        attachment file;
        file.sha256 = std::string(64, 'a');
        file.bytes = "0123456789";
        done(subject().keep_attachment(key_of(thread, "ada"), file, 1'000));
    }
    EXPECT_EQ(bytes_of("ada"), before + 20);
    EXPECT_EQ(bytes_of("eve"), load(key_of("t1", "eve")).bytes);
}

TEST(Usage, PeriodsAreThoseOfUtc) {
    constexpr unix_ms midnight = noon + 12 * hour;
    EXPECT_EQ(period_number(noon, usage_period::day), 20'261'129);
    EXPECT_EQ(period_number(midnight - 1, usage_period::day), 20'261'129);
    EXPECT_EQ(period_number(midnight, usage_period::day), 20'261'130);
    EXPECT_EQ(period_number(midnight + 24 * hour - 1, usage_period::month), 202'611);
    EXPECT_EQ(period_number(midnight + 24 * hour, usage_period::month), 202'612);
    EXPECT_EQ(end_of_period(noon, usage_period::day), midnight);
    EXPECT_EQ(end_of_period(noon, usage_period::month), midnight + 24 * hour);
    // The last day of a year, and a leap day.
    EXPECT_EQ(
        period_number(end_of_period(1'798'675'200'000, usage_period::day), usage_period::month),
        202'701
    );
    EXPECT_EQ(period_number(1'835'395'200'000, usage_period::day), 20'280'229);
}

} // namespace
} // namespace agui::session
