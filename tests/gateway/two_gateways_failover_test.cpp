// Two gateways on a database that fails over to a server which lacks what clients have seen.
#include "tests/gateway/two_gateways_fixture.hpp"

namespace agui::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TwoGatewaysFailover : public TwoGatewaysOfOneProcess {
protected:
    void SetUp() override { AGUI_NEEDS_POSTGRES(); }
    std::unique_ptr<common_store> make_common() override {
        auto made = std::make_unique<postgres>();
        database = made.get();
        return made;
    }

    postgres* database = nullptr;
};

// Its events may be others than those that a client has seen with these numbers.
TEST_F(TwoGatewaysFailover, ACursorBeyondTheRestOfALostRunIsGone) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    database->fail_over();
    common->end_first_leases();

    const std::string whole = ask_at(b(), get(events_path("r"))).body;
    EXPECT_THAT(whole, AllOf(HasSubstr("RUN_STARTED"), HasSubstr("id: 2"), HasSubstr("RUN_ERROR")));
    for (const std::string_view query : {"?after=2", "?after=3"}) {
        SCOPED_TRACE(query);
        EXPECT_EQ(ask_at(b(), get(events_path("r", query))).status, 410);
    }
    model.answer({.text = "too late"});
}

// Its record survived, from which its first event follows.
TEST_F(TwoGatewaysFailover, AReaderThatHasSeenOnlyTheBeginOfALostRunGetsItsEnd) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    const std::string begin = events_in(there.read_until("protocolVersion\":\"1.1\"}\n")).at(0);
    ASSERT_TRUE(model.wait_for_calls(1));

    database->fail_over();
    common->end_first_leases();

    const raw_reply whole = ask_at(b(), get(events_path("r")));
    EXPECT_EQ(events_in(whole.body).at(0), begin);
    const raw_reply rest = ask_at(b(), get(events_path("r", "?after=1")));
    EXPECT_EQ(rest.status, 200);
    EXPECT_THAT(rest.body, AllOf(HasSubstr("RUN_ERROR"), Not(HasSubstr("RUN_STARTED"))));
    model.answer({.text = "too late"});
}

// It waits for what it has not seen, and the run gets its end meanwhile.
TEST_F(TwoGatewaysFailover, ACursorThatTheStoreDoesNotHaveYetIsGoneOnceTheRunIsLost) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    database->fail_over();
    raw_client back(b());
    back.send(get(events_path("r", "?after=2")));
    EXPECT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 1; }));

    common->end_first_leases();

    EXPECT_EQ(back.read_reply().status, 410);
    model.answer({.text = "too late"});
}

TEST_F(TwoGatewaysFailover, AReaderGetsNoEventsThatDoNotFollowThoseItHasSeen) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    database->fail_over();
    database->change_starts();
    common->end_first_leases();
    EXPECT_THAT(ask_at(b(), get(events_path("r"))).body, HasSubstr("RUN_ERROR"));
    model.answer({.text = "too late"});

    EXPECT_THAT(
        rest_of(*there),
        AllOf(HasSubstr("RUN_ERROR"), Not(HasSubstr("id: 2")), Not(HasSubstr("too late")))
    );
}

TEST_F(TwoGatewaysFailover, ARunThatEndsByItselfIsReadFromEachOfItsEvents) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    model.answer({.text = "Hello"});
    const std::string end = "?after=" + std::to_string(events_in(rest_of(*there)).size() + 1);

    EXPECT_EQ(ask_at(b(), get(events_path("r", "?after=1"))).status, 200);
    EXPECT_EQ(ask_at(b(), get(events_path("r", end))).status, 204);
}

} // namespace
} // namespace agui::test
