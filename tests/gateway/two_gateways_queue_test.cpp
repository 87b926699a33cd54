// Two gateways on one store, whose busy threads queue messages.

#include "tests/gateway/two_gateways_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class TwoGatewaysQueue : public TwoGateways {
protected:
    TwoGatewaysQueue() { settings.session.on_busy = gateway::busy_policy::enqueue; }

    void start() {
        start_both();
        third = common->open();
    }

    /// With a run of thread `t` at A.
    std::unique_ptr<raw_client> start_with_run() {
        start();
        auto client = open(a(), post("/agui", body_of("r")));
        EXPECT_TRUE(model.wait_for_calls(1));
        return client;
    }

    /// The runIds in the queue of thread `t`.
    std::vector<std::string> queued() {
        std::vector<std::string> ids;
        for (const session::queued_request& each : outcome_of(third->queued(key)).value()) {
            ids.push_back(each.run_id);
        }
        return ids;
    }

    /// As a process does that has that store.
    static std::int64_t enqueue_at(
        session::store& at, const std::string& run_id, const std::string& agent = "default",
        unix_ms queued_at = 1
    ) {
        session::queued_request row;
        session::message& message = row.messages.emplace_back();
        message.id = run_id + "-u";
        message.role = session::role::user;
        message.content = run_id;
        row.run_id = run_id;
        row.agent_id = agent;
        row.protocol = "1.1";
        row.queued_at = queued_at;
        row.waits_since = 1;
        return outcome_of(at.enqueue({"", "t"}, row, {100, 1'000'000})).value();
    }

    /// The gateway that lets it wait; 0: none does.
    std::int64_t waits_with(std::string_view run_id) {
        for (const session::queued_request& each : outcome_of(third->queued(key)).value()) {
            if (each.run_id == run_id) {
                return each.gateway;
            }
        }
        return 0;
    }

    const session::thread_key key{"", "t"};
    std::shared_ptr<session::store> third;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, TwoGatewaysQueue,
    ::testing::Values(common_store_kind::doors, common_store_kind::postgres), name_of_store
);

TEST_P(TwoGatewaysQueue, AMessageForAThreadThatIsBusyElsewhereWaitsForItsTurn) {
    start();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), post("/agui", body_of("s")));
    EXPECT_EQ(model.calls(), 1U);

    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: s"));
    model.answer({.text = "Two"});

    EXPECT_THAT(rest_of(*here), HasSubstr("Two"));
}

TEST_P(TwoGatewaysQueue, AFirstReaderWithACursorIsAnsweredWhileTheMessageWaits) {
    const auto first = start_with_run();
    const auto there = open(a(), post("/agui", body_of("s")));

    const raw_reply head = ask_at(
        b(), "HEAD " + events_path("s", "?after=1") + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
    );

    EXPECT_EQ(head.status, 200);
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*there), HasSubstr("Two"));
}

TEST_P(TwoGatewaysQueue, MessagesThatWaitAtBothAreAnsweredTogether) {
    const auto first = start_with_run();
    const auto at_a = open(a(), post("/agui", body_of("s")));
    const auto at_b = open(b(), post("/agui", body_of("u")));

    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: s", "user: u"));
    model.answer({.text = "Together"});

    EXPECT_THAT(rest_of(*at_a), HasSubstr("Together"));
    EXPECT_THAT(rest_of(*at_b), HasSubstr("Together"));
    EXPECT_EQ(model.calls(), 2U) << "one model loop a thread";
}

using QueueOfTwoGatewaysOfOneProcess = TwoGatewaysOfOneProcess;

TEST_F(QueueOfTwoGatewaysOfOneProcess, AMessageIsTakenHereWhileItIsLookedForElsewhere) {
    settings.session.on_busy = gateway::busy_policy::enqueue;
    start_both();
    const auto first = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(a(), post("/agui", body_of("s")));
    const auto other = open(a(), post("/agui", body_of("u")));
    fake->hold_lookup(1, "u");
    ASSERT_TRUE(comes_true([&] { return fake->holds_a_lookup(1); }));

    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), Contains("user: u"));
    fake->let_lookup_go(1);
    ASSERT_TRUE(comes_true([&] { return !fake->holds_a_lookup(1); }));
    EXPECT_EQ(active_run_at(a()), "s");
    model.answer({.text = "Two"});

    EXPECT_THAT(rest_of(*one), HasSubstr("Two"));
    EXPECT_THAT(rest_of(*other), AllOf(HasSubstr("Two"), Not(HasSubstr("RUN_ERROR"))));
}

TEST_P(TwoGatewaysQueue, AGatewayThatShutsDownWhileAMessageWaitsThereEndsNoRunElsewhere) {
    settings.server.on_disconnect = {.what = gateway::disconnect_policy::kind::cancel, .grace = {}};
    const auto first = start_with_run();
    const auto waits = open(b(), post("/agui", body_of("s")));
    first->close();
    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 0; }));

    servers[1].reset();

    EXPECT_THAT(queued(), ElementsAre("s"));
    const auto again = open(a(), get(events_path("r")));
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*again), AllOf(HasSubstr("One"), HasSubstr("RUN_FINISHED")));
}

// The client lost its connection while it waited, and tries again at the other gateway.
TEST_P(TwoGatewaysQueue, ARequestThatWaitsAtBothIsOneRun) {
    const auto first = start_with_run();
    const auto at_a = open(a(), post("/agui", body_of("s")));
    const auto at_b = open(b(), post("/agui", body_of("s")));

    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Two"});

    const std::string shown_at_a = rest_of(*at_a);
    EXPECT_THAT(shown_at_a, HasSubstr("Two"));
    EXPECT_EQ(events_in(rest_of(*at_b)), events_in(shown_at_a));
    EXPECT_EQ(model.calls(), 2U);
}

// Its client has lost the connection and tried again at the other one.
TEST_P(TwoGatewaysQueue, AMessageWaitsForAClientThatHasComeToTheOther) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("cancel").value();
    const auto first = start_with_run();
    auto at_a = open(a(), post("/agui", body_of("s")));
    const auto at_b = open(b(), post("/agui", body_of("s")));
    auto other_at_a = open(a(), post("/agui", body_of("u")));

    at_a.reset();
    other_at_a.reset();
    ASSERT_TRUE(comes_true([&] { return queued() == std::vector<std::string>{"s"}; }));
    model.answer({.text = "One"});
    model.answer({.text = "Two"});

    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(rest_of(*at_b), HasSubstr("Two"));
    EXPECT_THAT(queued(), IsEmpty());
}

// Also if it waits only at the other one.
TEST_P(TwoGatewaysQueue, AMessageIsWithdrawnIfItsClientLeavesTheOther) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("cancel").value();
    const auto first = start_with_run();
    auto at_b = open(b(), post("/agui", body_of("s")));
    EXPECT_THAT(queued(), ElementsAre("s"));

    at_b.reset();

    EXPECT_TRUE(comes_true([&] { return queued().empty(); }));
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
}

TEST_P(TwoGatewaysQueue, AMessageThatWaitsAtTheOtherOneIsStopped) {
    const auto first = start_with_run();
    const auto at_a = open(a(), post("/agui", body_of("s")));
    const auto at_b = open(b(), post("/agui", body_of("s")));

    const raw_reply reply = ask_at(b(), post("/agui/cancel", R"({"threadId":"t","runId":"s"})"));

    EXPECT_EQ(reply.body, R"({"cancelled":true})");
    EXPECT_THAT(rest_of(*at_a), HasSubstr("user_stop"));
    EXPECT_THAT(rest_of(*at_b), HasSubstr("user_stop"));
    EXPECT_THAT(queued(), IsEmpty());
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(model.calls(), 1U);
}

TEST_P(TwoGatewaysQueue, AMessageThatWaitsOnlyAtTheOtherOneIsStopped) {
    const auto first = start_with_run();
    const auto at_a = open(a(), post("/agui", body_of("s")));

    const raw_reply reply = ask_at(b(), post("/agui/cancel", R"({"threadId":"t","runId":"s"})"));

    EXPECT_EQ(reply.body, R"({"cancelled":true})");
    EXPECT_THAT(rest_of(*at_a), HasSubstr("user_stop"));
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
}

TEST_P(TwoGatewaysQueue, AMessageThatWaitsAtTheOtherOneIsReadThere) {
    const auto first = start_with_run();
    const auto at_a = open(a(), post("/agui", body_of("s")));

    const auto at_b = open(b(), get(events_path("s")));

    EXPECT_EQ(ask_at(b(), get(events_path("x"))).status, 404);
    model.answer({.text = "One"});
    model.answer({.text = "Two"});
    const std::string shown_at_a = rest_of(*at_a);
    EXPECT_THAT(shown_at_a, HasSubstr("Two"));
    EXPECT_EQ(events_in(rest_of(*at_b)), events_in(shown_at_a));
    EXPECT_THAT(ask_at(b(), get(events_path("s"))).body, HasSubstr("Two"));
}

// Two processes had it, and one of them was killed after the other had begun the run.
TEST_P(TwoGatewaysQueue, ARequestThatIsARunAlreadyIsNotTakenFromTheQueue) {
    const auto first = start_with_run();
    auto killed = common->open();
    enqueue_at(*killed, "x");
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    result<session::lease_ptr> held = failure{};
    ASSERT_TRUE(comes_true([&] {
        held = outcome_of(third->acquire(key, "x"));
        return held.has_value();
    }));
    session::run_record begun;
    begun.run_id = "x";
    begun.agent_id = "default";
    begun.status = session::run_status::finished;
    ASSERT_TRUE(outcome_of(third->begin(key, begun, {}, std::nullopt, *held)));
    third->release(*held);

    killed.reset();

    EXPECT_TRUE(comes_true([&] { return queued().empty(); }));
    model.answer({.text = "Two"});
    const auto here = open(b(), post("/agui", body_of("s")));
    EXPECT_THAT(rest_of(*here), HasSubstr("Two"));
    EXPECT_EQ(model.calls(), 2U);
}

TEST_P(TwoGatewaysQueue, ARunThatSomebodyWaitsForAtTheOtherOneHasNotBeenLeft) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("cancel").value();
    start();
    auto first = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), post("/agui", body_of("s")));

    first.reset();
    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 0; }));
    model.answer({.text = "One"});
    model.answer({.text = "Two"});

    EXPECT_THAT(rest_of(*here), HasSubstr("Two"));
    EXPECT_THAT(ask_at(b(), get(events_path("r"))).body, HasSubstr("RUN_FINISHED"));
}

TEST_P(TwoGatewaysQueue, ADrainDoesNotWaitForTheOthersRun) {
    const auto first = start_with_run();
    const auto at_a = open(a(), post("/agui", body_of("s")));
    const auto at_b = open(b(), post("/agui", body_of("u")));
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    const std::size_t other = servers[0]->runs().list().empty() ? 0 : 1;

    servers[other]->request_stop();
    auto ended = std::async(std::launch::async, [&] { servers[other]->wait(); });

    EXPECT_EQ(ended.wait_for(patience), std::future_status::ready);
    // The reader there is cut off: the run lives.
    EXPECT_THAT(rest_of(other == 0 ? *at_a : *at_b), Not(HasSubstr("RUN_ERROR")));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(other == 0 ? *at_b : *at_a), HasSubstr("Two"));
}

// Its client has not sent it again.
TEST_P(TwoGatewaysQueue, AMessageThatAGatewayHasLeftBehindIsAnswered) {
    const auto first = start_with_run();
    auto fourth = common->open();
    enqueue_at(*fourth, "s");
    fourth.reset();
    EXPECT_THAT(queued(), ElementsAre("s"));

    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: s"));
    model.answer({.text = "Two"});

    EXPECT_THAT(ask_at(a(), get(events_path("s"))).body, HasSubstr("Two"));
    EXPECT_THAT(queued(), IsEmpty());
}

#ifdef AGUI_FAILPOINTS

// The fake store, in one process, has one clock.
class TwoGatewaysQueueClocks : public TwoGatewaysQueue {};

INSTANTIATE_TEST_SUITE_P(
    Stores, TwoGatewaysQueueClocks, ::testing::Values(common_store_kind::postgres), name_of_store
);

// The clock of the gateway that queued it was ahead.
TEST_P(TwoGatewaysQueueClocks, AHandOffHoldsAMessageThatWasQueuedBeforeItByAWrongClock) {
    std::atomic<bool> is_held{false};
    const failpoint_hook hook([&](std::string_view name) {
        is_held = is_held || name == "queue.held";
    });
    const auto first = start_with_run();
    auto fourth = common->open();
    constexpr unix_ms ten_days = 864'000'000;
    enqueue_at(*fourth, "s", "default", system_clock().now() + ten_days);
    fourth.reset();

    model.answer({.text = "Look", .call_id = "paint-1"});
    EXPECT_THAT(rest_of(*first), HasSubstr("pendingToolCallIds"));
    ASSERT_TRUE(comes_true([&] { return is_held.load(); }));
    const auto answered = open(a(), post("/agui", answer_body("n", "paint-1")));

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: Look", "tool: done"));
    model.answer({.text = "Done"});
    ASSERT_TRUE(model.wait_for_calls(3));
    EXPECT_EQ(model.request(2).back(), "user: s");
}

#endif

// Nobody has the thread: its gateway ended between two runs.
TEST_P(TwoGatewaysQueue, MessagesThatWereLeftBehindOnAFreeThreadAreAnswered) {
    const auto first = start_with_run();
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    auto fourth = common->open();
    enqueue_at(*fourth, "s");
    enqueue_at(*fourth, "u");

    fourth.reset();

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: s", "user: u"));
    model.answer({.text = "Two"});
    EXPECT_THAT(ask_at(b(), get(events_path("s"))).body, HasSubstr("Two"));
}

// Its other run still goes on.
TEST_P(TwoGatewaysQueue, AMessageDoesNotWaitUntilADrainIsOver) {
    const auto first = start_with_run();
    const auto other = open(a(), post("/agui", body_of("x", {}, "t2")));
    ASSERT_TRUE(model.wait_for_calls(2));
    const auto here = open(b(), post("/agui", body_of("s")));

    servers[0]->request_stop();
    model.answer({.text = "One"});

    ASSERT_TRUE(model.wait_for_calls(3));
    model.answer({.text = "Other"});
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*here), AllOf(HasSubstr("Two"), Not(HasSubstr("RUN_ERROR"))));
    EXPECT_THAT(rest_of(*other), HasSubstr("Other"));
}

TEST_P(TwoGatewaysQueue, AMessageThatADrainHandsBackIsAnsweredWhereItsClientIs) {
    settings.server.drain = std::chrono::seconds(0);
    const auto first = start_with_run();
    const auto here = open(b(), post("/agui", body_of("s")));

    servers[0].reset();

    EXPECT_THAT(rest_of(*first), HasSubstr("shutdown"));
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*here), AllOf(HasSubstr("Two"), Not(HasSubstr("RUN_ERROR"))));
}

// A rolling restart is enough for that.
TEST_P(TwoGatewaysQueue, AMessageThatWasLeftAndIsSentAgainBelongsToWhereItCame) {
    const auto first = start_with_run();
    auto at_a = open(a(), post("/agui", body_of("s")));
    servers[0]->request_stop();
    ASSERT_TRUE(comes_true([&] { return waits_with("s") != numbers[0]; }));
    const auto at_b = open(b(), post("/agui", body_of("s")));

    EXPECT_TRUE(comes_true([&] { return waits_with("s") == numbers[1]; }));
    const raw_reply reply = ask_at(b(), post("/agui/cancel", R"({"threadId":"t","runId":"s"})"));

    EXPECT_EQ(reply.body, R"({"cancelled":true})");
    EXPECT_THAT(rest_of(*at_b), HasSubstr("user_stop"));
    EXPECT_THAT(queued(), IsEmpty());
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(model.calls(), 1U);
}

TEST_P(TwoGatewaysQueue, AMessageForAnAgentThatIsNotHereIsLeftToOthers) {
    options.log = &log;
    const auto first = start_with_run();
    auto fourth = common->open();
    enqueue_at(*fourth, "s", "another agent");
    const std::int64_t number = outcome_of(third->queued(key)).value().at(0).number;
    fourth.reset();
    ASSERT_TRUE(comes_true([&] {
        return ::testing::Matches(Contains(HasSubstr("an agent that this process")))(log.lines());
    }));
    std::vector<session::left_request> claimed;

    ASSERT_TRUE(comes_true([&] {
        claimed = outcome_of(third->claim_queued({}, 1)).value();
        return !claimed.empty();
    }));
    EXPECT_EQ(claimed[0].request.number, number);
    outcome_of(third->leave_queued(number)).value();
    EXPECT_TRUE(comes_true([&] { return waits_with("s") == 0; })) << "nobody keeps it";
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
}

TEST_F(QueueOfTwoGatewaysOfOneProcess, AReaderOfAnAnsweredMessageWaitsForTheStore) {
    settings.session.on_busy = gateway::busy_policy::enqueue;
    start_both();
    const auto first = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(a(), post("/agui", body_of("s")));
    const auto other = open(a(), post("/agui", body_of("u")));
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    const auto at_b = open(b(), get(events_path("u")));

    fake->refuse_lookups(2, true);
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*other), HasSubstr("Two"));
    ASSERT_TRUE(comes_true([&] { return fake->refused_reads(2) > 1; }));
    fake->refuse_lookups(2, false);

    EXPECT_THAT(rest_of(*at_b), AllOf(HasSubstr("Two"), Not(HasSubstr("RUN_ERROR"))));
    EXPECT_THAT(rest_of(*one), HasSubstr("Two"));
}

// A message that is too large for the thread comes into the queue without the limits of A.
TEST_F(QueueOfTwoGatewaysOfOneProcess, MessagesThatCanNeitherBeAnsweredNorWithdrawnAreLogged) {
    options.log = &log;
    settings.session.on_busy = gateway::busy_policy::enqueue;
    settings.session.max_thread_bytes = 65'536;
    start_both();
    const auto third = common->open();
    const auto first = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto waiting = open(a(), post("/agui", body_of("s")));
    session::queued_request large;
    session::message& message = large.messages.emplace_back();
    message.id = "u-u";
    message.role = session::role::user;
    message.content = std::string(100'000, 'u');
    large.run_id = "u";
    large.agent_id = "default";
    large.protocol = "1.1";
    large.queued_at = large.waits_since = 1;
    ASSERT_TRUE(outcome_of(third->enqueue({"", "t"}, large, {100, 1'000'000})));
    fake->refuse_withdrawals(1, true);

    model.answer({.text = "One"});

    EXPECT_THAT(rest_of(*waiting), HasSubstr("RUN_ERROR"));
    EXPECT_EQ(outcome_of(third->queued({"", "t"})).value().size(), 2U);
    EXPECT_THAT(
        log.lines(),
        Contains(AllOf(
            HasSubstr("error queued messages of a thread cannot be answered and could not be"),
            HasSubstr("reason=body_too_large")
        ))
    );
    servers = {};
}

#ifdef AGUI_FAILPOINTS

// What has failed is done again by the next look.
TEST_P(TwoGatewaysQueue, AMessageThatCouldNotBePickedUpIsAnsweredLater) {
    const auto first = start_with_run();
    std::atomic<int> tries{0};
    const failpoint_hook fails([&](std::string_view reached) {
        if (reached == "queue.picked_up" && tries++ == 0) {
            throw std::runtime_error("no memory");
        }
    });
    auto fourth = common->open();
    enqueue_at(*fourth, "s");
    fourth.reset();
    ASSERT_TRUE(comes_true([&] { return tries > 0; }));

    model.answer({.text = "One"});

    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Two"});
    EXPECT_THAT(ask_at(a(), get(events_path("s"))).body, HasSubstr("Two"));
}

TEST_P(TwoGatewaysQueue, AMessageThatIsWithdrawnWhileARunTakesItIsLeftOut) {
    const auto first = start_with_run();
    const auto here = open(b(), post("/agui", body_of("s")));
    const std::int64_t number = enqueue_at(*third, "u");
    held_place at_b("queue.taken");
    model.answer({.text = "One"});
    ASSERT_TRUE(at_b.wait_until_it_comes());

    EXPECT_TRUE(outcome_of(third->withdraw(key, number)).value());
    at_b.let_go();

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: s"));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*here), HasSubstr("Two"));
    EXPECT_THAT(queued(), IsEmpty());
}

TEST_P(TwoGatewaysQueue, MessagesStayQueuedIfTheLeaseIsLostBeforeTheirRunBegins) {
    const auto first = start_with_run();
    const auto one = open(a(), post("/agui", body_of("s")));
    const auto other = open(a(), post("/agui", body_of("u")));
    held_place at_a("begin.planned");
    model.answer({.text = "One"});
    ASSERT_TRUE(at_a.wait_until_it_comes());

    common->end_first_leases();
    at_a.let_go();
    model.answer({.text = "Two"});

    EXPECT_THAT(rest_of(*one), HasSubstr("Two"));
    EXPECT_THAT(rest_of(*other), HasSubstr("Two"));
    EXPECT_THAT(queued(), IsEmpty());
}

#endif

} // namespace
} // namespace agui::test
