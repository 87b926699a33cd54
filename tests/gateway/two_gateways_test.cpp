// Two gateways on one store: a client may come to either with each request.

#include "tests/gateway/two_gateways_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <string>
#include <vector>

namespace agui::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(
    Stores, TwoGateways, ::testing::Values(common_store_kind::doors, common_store_kind::postgres),
    name_of_store
);

TEST_P(TwoGateways, AnActiveRunIsReadThroughTheOtherGateway) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), get(events_path("r")));

    model.answer({.text = "Hello"});
    const std::string rest = rest_of(*here);

    EXPECT_THAT(rest, HasSubstr("RUN_FINISHED"));
    const std::string whole = there.read_reply().body;
    EXPECT_THAT(whole, HasSubstr("Hello"));
    EXPECT_EQ(ask_at(b(), get(events_path("r"))).body, whole);
    EXPECT_EQ(
        ask_at(b(), get(events_path("r", "?after=1"))).body, whole.substr(whole.find("id: 2"))
    );
    const std::string end = "?after=" + std::to_string(events_in(whole).size());
    EXPECT_EQ(ask_at(b(), get(events_path("r", end))).status, 204);
    EXPECT_EQ(ask_at(b(), get(events_path("r", end + "&form=chat-stream"))).status, 204);
    std::vector<std::string> expected = events_in(whole);
    expected.erase(expected.begin()); // RUN_STARTED, which open() has read.
    EXPECT_EQ(events_in(rest), expected);
}

TEST_P(TwoGateways, AnApprovalIsAnsweredThroughTheOtherGateway) {
    std::atomic<int> executed = 0;
    options.tools.add(
        {"paint", "Paints", {}},
        [&executed](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
            ++executed;
            co_return runner::tool_outcome{runner::tool_outcome::kind::result, "done"};
        },
        {.approval = runner::approval_rule::always}
    );
    start_both();
    model.answer({.call_id = "c1"});
    EXPECT_THAT(ask_at(a(), post("/agui", body_of("r"))).body, HasSubstr("interrupt"));
    const std::string pending = ask_at(b(), get("/agui/threads/t/pending")).body;
    const auto waiting = boost::json::parse(pending).at("interrupts").as_array();
    ASSERT_EQ(waiting.size(), 1U);
    const std::string answer = R"(,"resume":[{"interruptId":)" +
                               boost::json::serialize(waiting[0].at("id")) +
                               R"(,"status":"resolved","payload":{"approved":true}}]})";
    const auto resume = [&answer](std::string_view run_id) {
        return post(
            "/agui", R"({"threadId":"t","runId":")" + std::string(run_id) +
                         R"(","protocolVersion":"1.1","messages":[])" + answer
        );
    };

    model.answer({.text = "Painted"});
    const std::string answered = ask_at(b(), resume("r")).body;

    EXPECT_THAT(answered, AllOf(HasSubstr("id: 1000000001"), HasSubstr("Painted")));
    EXPECT_EQ(ask_at(a(), resume("r")).body, answered);
    EXPECT_THAT(ask_at(a(), resume("r3")).body, HasSubstr(R"("outcome":{"type":"success"})"));
    EXPECT_EQ(executed, 1);
    EXPECT_THAT(ask_at(a(), get("/agui/threads/t/pending")).body, HasSubstr(R"("interrupts":[])"));
}

TEST_P(TwoGateways, APageOfCopilotKitMayComeToEither) {
    settings.server.copilotkit_path = "/copilotkit";
    start_both();
    const std::string agent = "/copilotkit/agent/default";
    raw_client there(a());
    there.send(post(agent + "/run", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    const auto here = open(b(), post(agent + "/connect", body_of("c")), R"("runId":"r")");
    EXPECT_EQ(ask_at(b(), post(agent + "/stop/t", R"({"runId":"r"})")).body, R"({"stopped":true})");

    EXPECT_THAT(rest_of(*here), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(there.read_reply().body, HasSubstr("RUN_FINISHED"));
    // A repeated runId finds the run of the other gateway, by the envelope too.
    const std::string repeated =
        R"({"method":"agent/run","params":{"agentId":"default"},"body":)" + body_of("r") + "}";
    EXPECT_THAT(ask_at(b(), post("/copilotkit", repeated)).body, HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(ask_at(b(), get("/copilotkit/threads/t/state")).status, 200);
}

TEST_P(TwoGateways, ACallThatIsClaimedAtOneIsClaimedAtTheOther) {
    start_both();
    model.answer({.call_id = "c1"});
    ASSERT_THAT(ask_at(a(), post("/agui", body_of("r"))).body, HasSubstr("RUN_FINISHED"));
    const auto claim_at = [](std::uint16_t port, std::string_view holder, auto method) {
        std::string request = post(
            "/agui/threads/t/calls/c1/claim", R"({"holder":")" + std::string(holder) + R"("})"
        );
        return ask_at(port, request.replace(0, 4, method)).status;
    };

    EXPECT_EQ(claim_at(a(), "tab 1", "POST"), 200);
    EXPECT_EQ(claim_at(b(), "tab 2", "POST"), 409);
    EXPECT_EQ(claim_at(b(), "tab 1", "POST"), 200);
    for (const std::uint16_t port : {a(), b()}) {
        EXPECT_THAT(
            ask_at(port, get("/agui/threads/t/pending")).body, HasSubstr(R"("claimedUntil":)")
        );
    }
    EXPECT_EQ(claim_at(a(), "tab 2", "DELETE"), 409);
    EXPECT_EQ(claim_at(b(), "tab 1", "DELETE"), 204);
    EXPECT_EQ(claim_at(a(), "tab 2", "POST"), 200);
}

// What is in the store can be read through one that cannot ask this one, before this one knows that
// it is there.
TEST_F(TwoGatewaysOfOneProcess, AnEventThatTheOtherOneHasShownIsNotGoneHere) {
    start_both();
    fake->hide_address(1);
    fake->hold_answers(1);
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    (void)open(b(), get(events_path("r")));

    raw_client back(a());
    back.send(get(events_path("r", "?after=1")));
    fake->let_answers_go(1);
    model.answer({.text = "Hello"});

    EXPECT_THAT(
        rest_of(back), AllOf(HasSubstr("200 OK"), HasSubstr("id: 2"), HasSubstr("RUN_FINISHED"))
    );
}

// One stream for all who read the run there, and nothing of it from the store.
TEST_F(TwoGatewaysOfOneProcess, ARunIsReadFromTheGatewayThatHasIt) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto first = open(b(), get(events_path("r")));
    const auto second = open(b(), get(events_path("r")));
    EXPECT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 2; }));

    model.answer({.text = "Hello"});

    const std::string rest = rest_of(*first);
    EXPECT_THAT(rest, AllOf(HasSubstr("Hello"), HasSubstr("RUN_FINISHED")));
    EXPECT_EQ(events_in(rest_of(*second)), events_in(rest));
    EXPECT_EQ(fake->log_reads(2), 0U);
}

TEST_F(TwoGatewaysOfOneProcess, ARunIsReadFromTheStoreWhileItsGatewayCannotBeAsked) {
    start_both();
    fake->hide_address(1);
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), get(events_path("r")));

    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(*here), AllOf(HasSubstr("Hello"), HasSubstr("RUN_FINISHED")));
}

// The log of those who read here is behind what a reader has seen at the other one.
TEST_F(TwoGatewaysOfOneProcess, TheLastEventOfARunThatHasEndedElsewhereIsNotGoneHere) {
    start_both();
    fake->hide_address(1);
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), get(events_path("r")));
    model.answer({.text = "Hello"});
    const std::size_t last = events_in(rest_of(*there)).size() + 1;
    const auto third = common->open();
    EXPECT_TRUE(comes_true([&] { return !outcome_of(third->holder({"", "t"})).value(); }));

    raw_client back(b());
    back.send(get(events_path("r", "?after=" + std::to_string(last - 1))));

    EXPECT_THAT(rest_of(back), AllOf(HasSubstr("200 OK"), HasSubstr("RUN_FINISHED")));
}

TEST_F(TwoGatewaysOfOneProcess, AReaderThatReadsFromTheStoreCountsAsOne) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("cancel").value();
    start_both();
    fake->hide_address(1);
    auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), get(events_path("r")));
    EXPECT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 2; }));

    there.reset();
    EXPECT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 1; }));
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(*here), AllOf(HasSubstr("Hello"), HasSubstr("RUN_FINISHED")));
}

// The followed log has no events at first.
TEST_P(TwoGateways, AFirstReaderWithACursorIsAnsweredWhileTheRunGoesOn) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    const raw_reply head = ask_at(
        b(), "HEAD " + events_path("r", "?after=1") + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
    );

    EXPECT_EQ(head.status, 200);
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
}

TEST_P(TwoGateways, ARunThatEndsWhileItIsBeingFoundIsReadToItsEnd) {
    start_both();
    for (int i = 0; i < 20; ++i) {
        const std::string run_id = "r" + std::to_string(i);
        raw_client there(a());
        there.send(post("/agui", body_of(run_id)));
        ASSERT_TRUE(model.wait_for_calls(static_cast<std::size_t>(i) + 1));
        auto reply =
            std::async(std::launch::async, [&] { return ask_at(b(), get(events_path(run_id))); });
        model.answer({.text = "Hello"});
        const std::string whole = there.read_reply().body;
        EXPECT_EQ(reply.get().body, whole);
    }
}

// Where the run was, its next request must not find it still there.
TEST_P(TwoGateways, TheThreadIsFreeForWhoeverHasSeenTheEndAtTheOtherOne) {
    start_both();
    for (int i = 0; i < 30; ++i) {
        const std::string run_id = "r" + std::to_string(i);
        raw_client there(a());
        there.send(post("/agui", body_of(run_id)));
        EXPECT_THAT(there.read_until("RUN_STARTED"), HasSubstr("200 OK")) << run_id;
        ASSERT_TRUE(model.wait_for_calls(static_cast<std::size_t>(i) + 1));
        const auto here = open(b(), get(events_path(run_id)));
        model.answer({.text = "Hello"});
        EXPECT_THAT(here->read_until("RUN_FINISHED"), HasSubstr("RUN_FINISHED"));
    }
}

TEST_P(TwoGateways, ARequestThatIsRepeatedAtTheOtherOneReadsTheSameRun) {
    start_both();
    raw_client there(a());
    there.send(post("/agui", body_of("r"), "Idempotency-Key: k\r\n"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto by_id = open(b(), post("/agui", body_of("r"), "Idempotency-Key: k\r\n"));
    const auto by_key = open(b(), post("/agui", body_of("r"), "Idempotency-Key: k\r\n"));

    EXPECT_EQ(ask_at(b(), post("/agui", body_of("r", "other"))).status, 409);
    model.answer({.text = "Hello"});

    const std::string whole = there.read_reply().body;
    EXPECT_THAT(rest_of(*by_id), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(rest_of(*by_key), HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(ask_at(b(), post("/agui", body_of("r"), "Idempotency-Key: k\r\n")).body, whole);
    EXPECT_EQ(model.calls(), 1U);
}

TEST_P(TwoGateways, ABusyThreadIsBusyAtBoth) {
    settings.session.supersede_detached = false;
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    const raw_reply refused = ask_at(b(), post("/agui", body_of("s")));

    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr(R"("activeRunId":"r")"));
    EXPECT_EQ(active_run_at(b()), "r");
    EXPECT_EQ(
        ask_at(b(), "DELETE /agui/threads/t HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 409
    );
    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
}

// Nobody says who has the thread, so that the client tries again.
TEST_F(TwoGatewaysOfOneProcess, AMessageForAGatewayThatCannotBeAskedIsRefused) {
    settings.session.on_busy = gateway::busy_policy::enqueue;
    start_both();
    fake->hide_address(1);
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    const raw_reply refused = ask_at(b(), post("/agui", body_of("s")));

    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(refused.header("retry-after"), "1");
    EXPECT_THAT(refused.body, HasSubstr(R"("activeRunId":"r")"));
}

// The ids that the first gateway has made are those of the run.
TEST_P(TwoGateways, AChatMessageIsPassedOn) {
    settings.session.on_busy = gateway::busy_policy::supersede;
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    const auto here =
        open(b(), post("/chat/stream", R"({"message":"Hi","sessionId":"t"})"), "\r\n\r\n");
    EXPECT_THAT(rest_of(*there), HasSubstr("superseded"));
    ASSERT_TRUE(model.wait_for_calls(2));
    const std::string run_id = servers[0]->runs().list().at(0).run_id;
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(*here), AllOf(HasSubstr("Hello"), HasSubstr(run_id + "-")));
    EXPECT_TRUE(servers[1]->runs().list().empty());
}

TEST_P(TwoGateways, ANewMessageSupersedesARunElsewhere) {
    settings.session.on_busy = gateway::busy_policy::supersede;
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    const auto here = open(b(), post("/agui", body_of("s")));
    EXPECT_THAT(rest_of(*there), HasSubstr("superseded"));
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(*here), HasSubstr("RUN_FINISHED"));
}

// With the settings of most: the run was left, and gives way.
TEST_F(TwoGatewaysOfOneProcess, AGatewayIsAskedToLetItsRunGiveWay) {
    start_both();
    fake->lose_stops(1, 1000);
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    EXPECT_EQ(ask_at(b(), post("/agui", body_of("s"))).status, 409);
    there->close();
    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 0; }));

    const auto here = open(b(), post("/agui", body_of("s2")));

    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*here), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(ask_at(a(), get(events_path("r"))).body, HasSubstr("superseded"));
}

TEST_P(TwoGateways, ANewMessageSupersedesOnlyARunElsewhereThatWasLeft) {
    settings.session.busy_wait = std::chrono::seconds(10);
    start_both();
    auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    raw_client here(b());
    here.send(post("/agui", body_of("s")));
    // While somebody reads it, it is not superseded.
    EXPECT_EQ(
        ask_at(
            b(), post(
                     "/agui", R"({"threadId":"t","runId":"a","messages":[{"id":"x",)"
                              R"("role":"tool","toolCallId":"c","content":""}]})"
                 )
        )
            .status,
        409
    );

    there->close();
    EXPECT_THAT(here.read_until("RUN_STARTED"), HasSubstr("RUN_STARTED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(here), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(ask_at(a(), get(events_path("r"))).body, HasSubstr("superseded"));
}

TEST_P(TwoGateways, AReaderElsewhereKeepsARunGoingUntilItLeaves) {
    settings.server.on_disconnect = {.what = gateway::disconnect_policy::kind::cancel, .grace = {}};
    start_both();
    auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    auto here = open(b(), get(events_path("r")));
    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 2; }));

    there->close();
    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 1; }));
    EXPECT_EQ(active_run_at(b()), "r");

    here->close();
    EXPECT_TRUE(comes_true([&] { return servers[0]->runs().list().empty(); }));
    EXPECT_THAT(ask_at(b(), get(events_path("r"))).body, HasSubstr("user_stop"));
}

TEST_P(TwoGateways, AReaderThatIsCutOffElsewhereDoesNotEndARun) {
    settings.server.on_disconnect = {.what = gateway::disconnect_policy::kind::cancel, .grace = {}};
    start_both();
    auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto here = open(b(), get(events_path("r")));
    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 2; }));
    there->close();
    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 1; }));

    servers[1].reset(); // It closes the connections of its readers.

    ASSERT_TRUE(comes_true([&] { return servers[0]->runs().list().at(0).readers == 0; }));
    const auto again = open(a(), get(events_path("r")));
    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*again), AllOf(HasSubstr("Hello"), HasSubstr("RUN_FINISHED")));
}

TEST_P(TwoGateways, HistoryIsFollowedByARunElsewhere) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    raw_client here(b());
    here.send(post(
        "/agui/history", R"({"threadId":"t","runId":"h","messages":[],"tools":[],"context":[],)"
                         R"("state":null,"forwardedProps":{"follow":true}})"
    ));
    const std::string recorded = here.read_until("RUN_FINISHED");
    EXPECT_THAT(recorded, HasSubstr(R"("id":"r-u")"));
    EXPECT_THAT(here.read_until(R"("runId":"r")"), HasSubstr("RUN_STARTED"));

    model.answer({.text = "Hello"});

    EXPECT_THAT(rest_of(here), HasSubstr("Hello"));
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
}

TEST_P(TwoGateways, AHandOffIsAnsweredAtTheOtherOne) {
    start_both();
    model.answer({.text = {}, .call_id = "c1"});
    EXPECT_THAT(ask_at(a(), post("/agui", body_of("r"))).body, HasSubstr("TOOL_CALL_END"));
    model.answer({.text = "Painted"});

    const raw_reply reply = ask_at(b(), post("/agui", answer_body("s", "c1")));

    EXPECT_THAT(reply.body, HasSubstr("Painted"));
}

TEST_F(TwoGatewaysOfOneProcess, AreNotReadyWhileTheStoreCannotBeUsed) {
    start_both();
    EXPECT_EQ(ask_at(a(), get("/readyz")).status, 200);

    fake->set_unavailable(1, "the server \"db\" does not answer");
    const raw_reply refused = ask_at(a(), get("/readyz"));
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(
        refused.body,
        R"({"status":"store_unavailable","reason":"the server \"db\" does not answer"})"
    );
    EXPECT_EQ(ask_at(b(), get("/readyz")).status, 200);

    fake->set_unavailable(1, {});
    EXPECT_EQ(ask_at(a(), get("/readyz")).status, 200);
}

#ifdef AGUI_FAILPOINTS

// Neither finds the other's run when it looks; the store decides.
TEST_P(TwoGateways, TheSameRequestAtBothStartsOneRun) {
    start_both();
    held_place at_b("admission.looked_up");
    raw_client here(b());
    here.send(post("/agui", body_of("r")));
    ASSERT_TRUE(at_b.wait_until_it_comes());
    raw_client there(a());
    there.send(post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    at_b.let_go();
    EXPECT_THAT(here.read_until("RUN_STARTED"), HasSubstr("200 OK"));
    model.answer({.text = "Hello"});

    const std::string whole = there.read_reply().body;
    EXPECT_THAT(rest_of(here), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(whole, HasSubstr("Hello"));
    EXPECT_EQ(model.calls(), 1U);
}

// A repeat of the run's request that was held up there has the thread for a moment.
TEST_P(TwoGateways, AThreadThatIsHeldForARunThatHasEndedIsWaitedFor) {
    start_both();
    model.answer({.text = "One"});
    EXPECT_THAT(ask_at(a(), post("/agui", body_of("r"))).body, HasSubstr("One"));
    session::store& there = servers[0]->store();
    const auto held = outcome_of(there.acquire({"", "t"}, "r"));
    ASSERT_TRUE(held);
    held_place at_a("admission.held_for_ended");
    raw_client here(b());
    here.send(post("/agui", body_of("s")));
    ASSERT_TRUE(at_a.wait_until_it_comes());

    there.release(*held);
    at_a.let_go();
    model.answer({.text = "Two"});

    EXPECT_THAT(here.read_reply().body, HasSubstr("Two"));
}

TEST_P(TwoGateways, TheSameRequestIsFoundAlsoOnceItsRunHasEnded) {
    start_both();
    held_place at_b("admission.looked_up");
    raw_client here(b());
    here.send(post("/agui", body_of("r")));
    ASSERT_TRUE(at_b.wait_until_it_comes());
    model.answer({.text = "Hello"});
    const std::string whole = ask_at(a(), post("/agui", body_of("r"))).body;

    at_b.let_go();

    EXPECT_EQ(here.read_reply().body, whole);
    EXPECT_EQ(model.calls(), 1U);
}

TEST_P(TwoGateways, AnotherRequestWithThatRunIdIsRefused) {
    start_both();
    held_place at_b("admission.looked_up");
    raw_client here(b());
    here.send(post("/agui", body_of("r", "something else")));
    ASSERT_TRUE(at_b.wait_until_it_comes());
    model.answer({.text = "Hello"});
    ask_at(a(), post("/agui", body_of("r")));

    at_b.let_go();

    EXPECT_THAT(here.read_reply().body, HasSubstr("run_id_reused"));
    EXPECT_EQ(model.calls(), 1U);
}

#endif

} // namespace
} // namespace agui::test
