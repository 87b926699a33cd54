// `session.on_busy = "enqueue"`: messages for a busy thread wait, and the next run answers them
// all.

#include "session/base/failpoint.hpp"
#include "tests/gateway/queue_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Queue : public queue_test {};

TEST_P(Queue, ManyMessagesAreAnsweredTogether) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    constexpr std::size_t count = 50;
    std::vector<std::unique_ptr<raw_client>> waiting;
    std::vector<std::string> expected{"user: r", "assistant: One"};
    for (std::size_t i = 0; i < count; ++i) {
        waiting.push_back(open(body_of("q" + std::to_string(i))));
        expected.push_back("user: q" + std::to_string(i));
    }
    EXPECT_EQ(model.calls(), 1) << "one model loop a thread";

    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_EQ(model.request(1), expected);
    model.answer({.text = "Together"});

    EXPECT_THAT(
        types_of(rest_of(*waiting.front())),
        ElementsAre(
            "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"
        )
    );
    for (std::size_t i = 1; i < count; ++i) {
        SCOPED_TRACE(i);
        const std::string rest = rest_of(*waiting[i]);
        EXPECT_THAT(types_of(rest), ElementsAre("MESSAGES_SNAPSHOT", "RUN_FINISHED"));
        EXPECT_THAT(rest, HasSubstr("Together"));
        EXPECT_THAT(rest, HasSubstr("\"q49\""));
    }
    EXPECT_EQ(model.calls(), 2) << "one call for all of them";
}

TEST_P(Queue, AnAnswerPassesTheQueueAndAHandOffHoldsIt) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto waiting = open(body_of("q"));

    model.answer({.text = "Look", .call_id = "paint-1"});
    EXPECT_THAT(rest_of(*first), HasSubstr("pendingToolCallIds"));
    const auto answered = open(answer_body("a", "paint-1"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: Look", "tool: done"));
    model.answer({.text = "Seen"});
    EXPECT_THAT(rest_of(*answered), HasSubstr("RUN_FINISHED"));

    ASSERT_TRUE(model.wait_for_calls(3));
    EXPECT_THAT(
        model.request(2),
        ElementsAre("user: r", "assistant: Look", "tool: done", "assistant: Seen", "user: q")
    );
    model.answer({.text = "And you"});
    EXPECT_THAT(rest_of(*waiting), HasSubstr("And you"));
}

TEST_P(Queue, AnAnswerPassesTheQueueAlsoWithAMessage) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto waiting = open(body_of("q"));
    model.answer({.text = "Look", .call_id = "paint-1"});
    EXPECT_THAT(rest_of(*first), HasSubstr("pendingToolCallIds"));

    const auto answered = open(body_of(
        "a", "and now?", "t",
        R"({"id":"a-a","role":"tool","toolCallId":"paint-1","content":"done"},)"
    ));

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(
        model.request(1), ElementsAre("user: r", "assistant: Look", "tool: done", "user: and now?")
    );
    model.answer({.text = "Now"});
    ASSERT_TRUE(model.wait_for_calls(3));
    EXPECT_EQ(model.request(2).back(), "user: q");
}

TEST_P(Queue, TheRemovalOfTheConversationEndsTheWait) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto waiting = open(body_of("q"));
    model.answer({.text = "Look", .call_id = "paint-1"});
    EXPECT_THAT(rest_of(*first), HasSubstr("pendingToolCallIds"));

    EXPECT_EQ(ask("DELETE /agui/threads/t HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 204);

    const auto next = open(body_of("n"));
    EXPECT_THAT(rest_of(*waiting), HasSubstr("not_found"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: n"));
}

TEST_P(Queue, AHandOffHoldsTheQueueForAWhileOnly) {
    settings.session.queue_hold = std::chrono::seconds(1);
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto waiting = open(body_of("q"));

    model.answer({.text = "Look", .call_id = "paint-1"});
    EXPECT_THAT(rest_of(*first), HasSubstr("pendingToolCallIds"));

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(
        model.request(1), ElementsAre("user: r", "assistant: Look", HasSubstr("tool: "), "user: q")
    );
    model.answer({.text = "And you"});
    EXPECT_THAT(rest_of(*waiting), HasSubstr("And you"));
}

TEST_P(Queue, AMessageAfterAHandOffEndsItsHold) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto waiting = open(body_of("q"));
    model.answer({.text = "Look", .call_id = "paint-1"});
    EXPECT_THAT(rest_of(*first), HasSubstr("pendingToolCallIds"));
    // Later than the end of the run, in milliseconds.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));

    const auto later = open(body_of("p"));

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(
        model.request(1),
        ElementsAre("user: r", "assistant: Look", HasSubstr("tool: "), "user: q", "user: p")
    );
    model.answer({.text = "Both"});
    EXPECT_THAT(rest_of(*waiting), HasSubstr("TEXT_MESSAGE_CONTENT"));
    EXPECT_THAT(types_of(rest_of(*later)), ElementsAre("MESSAGES_SNAPSHOT", "RUN_FINISHED"));
}

TEST_P(Queue, NoPageButTheFirstSeesTheCallsOfAHandOff) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    const auto two = open(body_of("q2"));
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));

    model.answer({.text = "Look", .call_id = "paint-1"});

    EXPECT_THAT(rest_of(*one), HasSubstr("TOOL_CALL_START"));
    const std::string other = rest_of(*two);
    EXPECT_THAT(types_of(other), ElementsAre("MESSAGES_SNAPSHOT", "RUN_FINISHED"));
    EXPECT_THAT(other, HasSubstr("\"q2\""));
    EXPECT_THAT(other, Not(HasSubstr("paint-1")));
    // Nor does who asks later, when the call has its answer.
    const auto answered = open(answer_body("a", "paint-1"));
    model.answer({.text = "Seen"});
    EXPECT_THAT(rest_of(*answered), HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(events_of("q2").body, Not(HasSubstr("paint-1")));
}

TEST_P(Queue, AStopWithdrawsAMessageThatWaits) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    const auto two = open(body_of("q2"));

    EXPECT_EQ(
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"q1"})")).body, R"({"cancelled":true})"
    );

    const std::string rest = rest_of(*one);
    EXPECT_THAT(types_of(rest), ElementsAre("CUSTOM", "RUN_FINISHED"));
    EXPECT_THAT(rest, HasSubstr("user_stop"));
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: q2"));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*two), HasSubstr("Two"));
}

TEST_P(Queue, AStopOfTheThreadReachesAllThatWait) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    const auto two = open(body_of("q2"));

    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})");

    for (raw_client* client : {first.get(), one.get(), two.get()}) {
        EXPECT_THAT(rest_of(*client), HasSubstr("user_stop"));
    }
    EXPECT_EQ(model.calls(), 1);
    const auto next = open(body_of("n"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), Not(::testing::Contains("user: q1")));
}

TEST_P(Queue, AStopOfOneThatIsBeingAnsweredEndsItsStreamOnly) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    const auto two = open(body_of("q2"));
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));

    EXPECT_EQ(
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"q2"})")).body, R"({"cancelled":true})"
    );

    EXPECT_THAT(rest_of(*two), HasSubstr("user_stop"));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*one), HasSubstr("Two"));
}

TEST_P(Queue, TheEndOfTheRunThatAnswersIsTheEndOfAll) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    const auto two = open(body_of("q2"));
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));

    model.answer({.fails = true});

    EXPECT_THAT(rest_of(*one), HasSubstr("model_rejected"));
    const std::string other = rest_of(*two);
    EXPECT_THAT(types_of(other), ElementsAre("RUN_ERROR"));
    EXPECT_THAT(other, HasSubstr("model_rejected"));
    EXPECT_THAT(events_of("q2").body, HasSubstr("model_rejected"));
}

TEST_P(Queue, AClientThatLeavesForGoodWithdrawsItsMessage) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto gone = open(body_of("q1"), "X-On-Disconnect: cancel\r\n");
    const auto stays = open(body_of("q2"), "X-On-Disconnect: continue\r\n");
    const auto two = open(body_of("q3"));

    gone->close();
    stays->close();
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (queued().size() > 2 && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::yield();
    }
    EXPECT_THAT(queued(), ElementsAre("q2", "q3"));

    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: q2", "user: q3"));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*two), HasSubstr("MESSAGES_SNAPSHOT"));
    EXPECT_THAT(events_of("q2").body, HasSubstr("Two"));
}

TEST_P(Queue, ARunThatSomebodyWaitsForHasNotBeenLeft) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("cancel").value();
    start();
    auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto waiting = open(body_of("q"));

#ifdef AGUI_FAILPOINTS
    std::promise<void> seen;
    const failpoint_hook hook([&seen](std::string_view place) {
        if (place == "run.left") {
            seen.set_value();
        }
    });
#endif
    first->close();
#ifdef AGUI_FAILPOINTS
    ASSERT_EQ(seen.get_future().wait_for(patience), std::future_status::ready);
#endif

    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: q"));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*waiting), HasSubstr("Two"));
}

TEST_P(Queue, ARunWithoutAReaderIsNotStoppedForAMessage) {
    settings.session.supersede_detached = true;
    start();
    open(body_of("r"), "X-On-Disconnect: continue\r\n")->close();
    ASSERT_TRUE(model.wait_for_calls(1));

    const auto waiting = open(body_of("q"));

    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: q"));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*waiting), HasSubstr("Two"));
    EXPECT_THAT(events_of("r").body, Not(HasSubstr("superseded")));
}

TEST_P(Queue, ARunWithoutWaitingClientsHasBeenLeft) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("cancel").value();
    start();
    auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    auto waiting = open(body_of("q"));

    first->close();
    waiting->close();

    const auto is_active = [this] {
        return ask(get("/agui/threads/t")).body.find("activeRunId") != std::string::npos;
    };
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (is_active() && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::yield();
    }
    EXPECT_FALSE(is_active());
    EXPECT_THAT(events_of("r").body, HasSubstr("user_stop"));
    EXPECT_EQ(model.calls(), 1);
}

TEST_P(Queue, ARepeatJoinsTheRequestThatWaits) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q"), "Idempotency-Key: k\r\n");

    const auto again = open(body_of("q"), "Idempotency-Key: k\r\n");
    const raw_reply other = ask(post("/agui", body_of("q", "something else")));
    const raw_reply other_key = ask(post("/agui", body_of("x"), "Idempotency-Key: k\r\n"));

    EXPECT_EQ(other.status, 409);
    EXPECT_THAT(other.body, HasSubstr("run_id_reused"));
    EXPECT_EQ(other_key.status, 409);
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: q"));
    model.answer({.text = "Two"});
    const std::string end = rest_of(*one);
    EXPECT_THAT(end, HasSubstr("Two"));
    EXPECT_EQ(rest_of(*again), end);
}

TEST_P(Queue, AReplayEqualsTheFirstStream) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    raw_client two(port());
    two.send(post("/agui", body_of("q2")));
    const auto twin = open(body_of("q2"));
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Two"});
    const raw_reply seen = two.read_reply();
    EXPECT_THAT(rest_of(*one), HasSubstr("Two"));

    EXPECT_EQ(ask(post("/agui", body_of("q2"))).body, seen.body);
    EXPECT_EQ(events_of("q2").body, seen.body);
    const raw_reply later = ask(get("/agui/threads/t/runs/q2/events?after=2"));
    EXPECT_THAT(types_of(later.body), ElementsAre("RUN_FINISHED"));
    EXPECT_THAT(
        types_of(events_of("q1").body),
        ElementsAre(
            "RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
            "RUN_FINISHED"
        )
    );
    EXPECT_EQ(model.calls(), 2);
}

TEST_P(Queue, HoldsNoMoreThanItMay) {
    settings.session.queue_max = 2;
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    const auto two = open(body_of("q2"));

    const raw_reply refused = ask(post("/agui", body_of("q3")));

    EXPECT_EQ(refused.status, 429);
    EXPECT_THAT(refused.body, HasSubstr("queue_full"));
    EXPECT_EQ(refused.header("retry-after"), "2");
    ask(post("/agui/cancel", R"({"threadId":"t","runId":"q1"})"));
    const auto three = open(body_of("q3"));
}

TEST_P(Queue, HoldsNoMoreThanItsThreadMay) {
    settings.session.max_thread_bytes = 65'536;
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1", std::string(40'000, 'x')));

    EXPECT_EQ(ask(post("/agui", body_of("q2", std::string(40'000, 'x')))).status, 429);
    EXPECT_EQ(ask(post("/agui", body_of("q3", std::string(70'000, 'x')))).status, 413);
}

TEST_P(Queue, AClientThatSendsTheWholeHistoryAddsOnlyNewMessages) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const std::string known = R"({"id":"r-u","role":"user","content":"r"},)";
    const auto one = open(body_of("q1", {}, "t", known));
    const auto two = open(body_of("q2", {}, "t", known));

    model.answer({.text = "One"});

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: q1", "user: q2"));
}

TEST_P(Queue, ARequestWithoutANewMessageDoesNotWait) {
    settings.session.busy_wait = std::chrono::milliseconds(0);
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));

    std::string again = body_of("again");
    again.replace(again.find("again-u"), 7, "r-u");

    EXPECT_EQ(ask(post("/agui", again)).status, 409);
    EXPECT_EQ(ask(post("/agui", answer_body("a", "none"))).status, 409);
}

TEST_P(Queue, EachAgentAnswersItsOwnMessages) {
    settings.agents.push_back(settings.agents.front());
    settings.agents.back().id = "other";
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    raw_client two(port());
    two.send(post("/agui/agents/other", body_of("q2")));
    EXPECT_THAT(two.read_until("RUN_STARTED"), HasSubstr("HTTP/1.1 200"));
    const auto three = open(body_of("q3"));

    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: q1", "user: q3"));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*three), HasSubstr("MESSAGES_SNAPSHOT"));
    ASSERT_TRUE(model.wait_for_calls(3));
    EXPECT_EQ(model.request(2).back(), "user: q2");
    model.answer({.text = "Three"});
    EXPECT_THAT(rest_of(two), HasSubstr("Three"));
}

TEST_P(Queue, TheNextRunComesAfterTheOneThatAnswers) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));

    const auto two = open(body_of("q2"));
    EXPECT_EQ(model.calls(), 2);
    model.answer({.text = "Two"});
    ASSERT_TRUE(model.wait_for_calls(3));
    EXPECT_EQ(model.request(2).back(), "user: q2");
    model.answer({.text = "Three"});

    EXPECT_THAT(rest_of(*one), HasSubstr("Two"));
    EXPECT_THAT(rest_of(*two), HasSubstr("Three"));
}

TEST_P(Queue, TheObserverSeesTheEventsThatReadersSee) {
    std::mutex mutex;
    std::map<std::string, std::vector<std::string>> seen;
    options.observer = [&](const gateway::observed_event& event) {
        const std::lock_guard lock(mutex);
        const std::string_view json = event.json.substr(9);
        seen[event.run.run_id].push_back(
            std::to_string(event.sequence) + ' ' + std::string(json.substr(0, json.find('"'))) +
            (event.terminal ? " end" : "")
        );
    };
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    const auto two = open(body_of("q2"));
    model.answer({.text = "One"});
    ASSERT_TRUE(model.wait_for_calls(2));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*one), HasSubstr("Two"));
    EXPECT_THAT(rest_of(*two), HasSubstr("Two"));
    server.reset();

    EXPECT_THAT(
        seen["q1"], ElementsAre(
                        "1 RUN_STARTED", "2 TEXT_MESSAGE_START", "3 TEXT_MESSAGE_CONTENT",
                        "4 TEXT_MESSAGE_END", "5 RUN_FINISHED end"
                    )
    );
    EXPECT_THAT(
        seen["q2"], ElementsAre("1 RUN_STARTED", "2 MESSAGES_SNAPSHOT", "3 RUN_FINISHED end")
    );
}

TEST_P(Queue, ADrainEndsTheWaitAndKeepsTheMessages) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto one = open(body_of("q1"));
    const auto two = open(body_of("q2"));

    std::thread end([this] { server.reset(); });

    for (raw_client* client : {one.get(), two.get()}) {
        const std::string rest = rest_of(*client);
        EXPECT_THAT(types_of(rest), ElementsAre("RUN_ERROR"));
        EXPECT_THAT(rest, HasSubstr("shutdown"));
        EXPECT_THAT(rest, Not(HasSubstr("id: 2"))) << "the run may still begin";
    }
    model.answer({.text = "One"});
    end.join();
}

INSTANTIATE_TEST_SUITE_P(
    Stores, Queue, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& each) { return each.param == store_kind::memory ? "memory" : "sqlite"; }
);

} // namespace
} // namespace agui::test
