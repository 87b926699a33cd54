// Two gateways on one store: a run that its gateway has lost is ended by the other.

#include "tests/gateway/two_gateways_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace agui::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// It is told at once that the run is lost, although the gateway that had it cannot read the store.
TEST_F(TwoGatewaysOfOneProcess, AReaderElsewhereGetsTheEndOfALostRunFromTheStore) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), get(events_path("r")));
    fake->set_unavailable(1, "the server does not answer");

    common->end_first_leases();
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(*here), AllOf(HasSubstr("RUN_ERROR"), Not(HasSubstr("Hello"))));
}

// Another process has claimed it, but not ended it yet; if that is killed, its lease is waited for.
TEST_P(TwoGateways, ALostRunThatIsBeingEndedIsFollowed) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const std::shared_ptr<session::store> third = common->open();
    common->end_first_leases();
    const auto held = outcome_of(third->acquire({"", "t"}, {}));
    ASSERT_TRUE(held);

    const auto here = open(b(), get(events_path("r")));
    third->release(*held);

    EXPECT_THAT(rest_of(*here), HasSubstr("RUN_ERROR"));
}

TEST_P(TwoGateways, ALostRunIsEndedByTheOther) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), get(events_path("r")));

    common->end_first_leases();

    const std::string rest = rest_of(*here);
    EXPECT_THAT(rest, HasSubstr("RUN_ERROR"));
    model.answer({.text = "too late"});
    const std::string lost = there.read_reply().body;
    EXPECT_THAT(lost, Not(HasSubstr("too late")));
    EXPECT_EQ(lost, ask_at(b(), get(events_path("r"))).body) << "it read on what the other has";
    EXPECT_TRUE(comes_true([&] { return servers[0]->runs().list().empty(); }));
    const std::string stored = ask_at(a(), get(events_path("r"))).body;
    EXPECT_THAT(stored, HasSubstr("RUN_ERROR"));
    EXPECT_THAT(stored, Not(HasSubstr("too late")));
}

TEST_P(TwoGateways, ALostRunWhoseLogIsLostTooIsSaidToBeGoneForEveryCursor) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    common->lose_logs();
    common->end_first_leases();

    EXPECT_EQ(ask_at(b(), get(events_path("r"))).status, 410);
    for (const std::string_view query : {"?after=0", "?after=1", "?after=99"}) {
        SCOPED_TRACE(query);
        EXPECT_EQ(ask_at(b(), get(events_path("r", query))).status, 410);
    }
    EXPECT_EQ(ask_at(b(), post("/agui", body_of("r"))).status, 410);
    EXPECT_EQ(ask_at(b(), post("/agui/history", body_of("s"))).status, 200);
    model.answer({.text = "too late"});
}

TEST_P(TwoGateways, ALostRunIsEndedBeforeTheThreadsNextRun) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    common->end_first_leases();

    model.forget_answers();
    raw_client here(b());
    here.send(post("/agui", body_of("s")));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(ask_at(b(), get(events_path("r"))).body, HasSubstr("RUN_ERROR"));
    // The text of the former holder's model reaches nobody.
    model.answer({.text = "first"});
    model.answer({.text = "second"});

    const std::string answered = here.read_reply().body;
    EXPECT_THAT(answered, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(ask_at(a(), get(events_path("r"))).body, Not(HasSubstr("first")));
}

// As a process does that was stopped for longer than its leases, before anything has told it.
TEST_F(TwoGatewaysOfOneProcess, AfterALostLeaseOnlyTheEndFromTheOtherGatewayIsShown) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    common->end_first_leases();
    model.answer({.text = "Hello", .call_id = "c1"});
    const std::string shown = there.read_reply().body;

    // The other one ends it, and what it had said by then is all that is there.
    EXPECT_EQ(model.calls(), 1U);
    const std::string stored = ask_at(b(), get(events_path("r"))).body;
    EXPECT_THAT(stored, HasSubstr("RUN_ERROR"));
    EXPECT_THAT(stored, Not(HasSubstr("Hello")));
    EXPECT_EQ(shown, stored);
}

TEST_F(TwoGatewaysOfOneProcess, AReaderElsewhereGetsAnEndEvenIfTheLogIsGone) {
    start_both();
    fake->hide_address(1);
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    raw_client here(b());
    here.send(get(events_path("r")));
    ASSERT_THAT(here.read_until("RUN_STARTED"), HasSubstr("RUN_STARTED"));

    fake->lose_logs(2);
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
    const std::string rest = rest_of(here);
    EXPECT_THAT(rest, HasSubstr("RUN_ERROR"));
    EXPECT_THAT(rest, HasSubstr(R"("code":"internal")"));
}

TEST_F(TwoGatewaysOfOneProcess, AReaderElsewhereGetsAnEndEvenIfTheLogIsDamaged) {
    start_both();
    fake->hide_address(1);
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    raw_client here(b());
    here.send(get(events_path("r")));
    ASSERT_THAT(here.read_until("RUN_STARTED"), HasSubstr("RUN_STARTED"));

    fake->damage_logs(2);
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(rest_of(here), HasSubstr("RUN_ERROR"));
    EXPECT_EQ(ask_at(b(), get(events_path("r"))).status, 410);
}

// The client has a stream without an end, but with heartbeats, until the store answers again.
TEST_F(TwoGatewaysOfOneProcess, TheEndOfALostRunIsShownOnceTheStoreCanBeRead) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    fake->set_unavailable(1, "the server does not answer");
    common->end_first_leases();
    model.answer({.text = "Hello"});
    const std::string stored = ask_at(b(), get(events_path("r"))).body;
    ASSERT_TRUE(comes_true([&] { return fake->refused_reads(1) > 1; }));

    fake->set_unavailable(1, {});

    EXPECT_THAT(there.read_reply().body, EndsWith(stored)) << "heartbeats may precede it";
    EXPECT_THAT(stored, StartsWith("id: 1\n"));
    EXPECT_THAT(stored, HasSubstr("RUN_ERROR"));
}

} // namespace
} // namespace agui::test
