// `session.on_busy = "enqueue"`: messages for a busy thread wait, and the next run answers them
// all.

#include "session/base/failpoint.hpp"
#include "tests/gateway/queue_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
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

class QueueAfterARestart : public queue_test {
protected:
    // r has had that answer; q1 and q2 are in the queue of a server that has been started again.
    void leave_two(held_answer answer) {
        start();
        const auto first = open(body_of("r"));
        ASSERT_TRUE(model.wait_for_calls(1));
        const auto one = open(body_of("q1"));
        const auto two = open(body_of("q2"));
        server->request_stop();
        EXPECT_THAT(rest_of(*one), HasSubstr("shutdown"));
        EXPECT_THAT(rest_of(*two), HasSubstr("shutdown"));
        model.answer(std::move(answer));
        EXPECT_THAT(rest_of(*first), HasSubstr("RUN_FINISHED"));
        server.reset();
        use_model();
        start();
    }
};

TEST_P(QueueAfterARestart, ARepeatBeginsTheRunForAll) {
    leave_two({.text = "One"});

    const auto two = open(body_of("q2"));

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: q1", "user: q2"));
    const auto one = open(body_of("q1")); // It is being answered already.
    model.answer({.text = "Two"});
    EXPECT_THAT(types_of(rest_of(*two)), ::testing::Contains("TEXT_MESSAGE_CONTENT"));
    EXPECT_THAT(types_of(rest_of(*one)), ElementsAre("MESSAGES_SNAPSHOT", "RUN_FINISHED"));
    EXPECT_THAT(
        types_of(ask(post("/agui", body_of("q1"))).body),
        ElementsAre("RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED")
    );
    EXPECT_EQ(ask(post("/agui", body_of("q1", "other"))).status, 409);
}

TEST_P(QueueAfterARestart, ARepeatIsTheSameRequest) {
    leave_two({.text = "One"});

    EXPECT_EQ(ask(post("/agui", body_of("q1", "other"))).status, 409);
    EXPECT_EQ(events_of("q1").status, 404) << "it is no run yet";
}

TEST_P(QueueAfterARestart, TheNextMessageBeginsTheRunForAll) {
    leave_two({.text = "One"});

    const auto next = open(body_of("n"));

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(
        model.request(1),
        ElementsAre("user: r", "assistant: One", "user: q1", "user: q2", "user: n")
    );
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*next), HasSubstr("Two"));
    EXPECT_THAT(events_of("q1").body, HasSubstr("Two"));
}

TEST_P(QueueAfterARestart, AHandOffStillHoldsTheQueue) {
    leave_two({.text = "Look", .call_id = "paint-1"});
    const auto one = open(body_of("q1"));

    const auto answered = open(answer_body("a", "paint-1"));

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: Look", "tool: done"));
    model.answer({.text = "Seen"});
    EXPECT_THAT(rest_of(*answered), HasSubstr("RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(3));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*one), HasSubstr("Two"));
}

TEST_P(QueueAfterARestart, AnAnswerTakesTheMessagesAlongIfNobodyWaits) {
    leave_two({.text = "Look", .call_id = "paint-1"});

    const auto answered = open(answer_body("a", "paint-1"));

    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(
        model.request(1),
        ElementsAre("user: r", "assistant: Look", "tool: done", "user: q1", "user: q2")
    );
    model.answer({.text = "Seen"});
    EXPECT_THAT(rest_of(*answered), HasSubstr("Seen"));
    EXPECT_THAT(events_of("q1").body, HasSubstr("Seen"));
}

INSTANTIATE_TEST_SUITE_P(
    Stores, QueueAfterARestart, ::testing::Values(store_kind::sqlite),
    [](const auto&) { return "sqlite"; }
);

TEST_P(QueueAfterARestart, MessagesThatCannotBeAnsweredDoNotBlockTheQueue) {
    leave_two({.text = "One"});
    // By a server that does not know of the queue, a message is answered after all.
    server.reset();
    settings.session.on_busy = gateway::busy_policy::reject;
    use_model();
    start();
    model.answer({.text = "Alone"});
    EXPECT_THAT(ask(post("/agui", body_of("q1"))).body, HasSubstr("Alone"));
    server.reset();
    settings.session.on_busy = gateway::busy_policy::enqueue;
    use_model();
    start();

    EXPECT_THAT(ask(post("/agui", body_of("q2"))).body, HasSubstr("run_id_reused"));

    model.answer({.text = "Again"});
    EXPECT_THAT(ask(post("/agui", body_of("n"))).body, HasSubstr("Again"));
}

#ifdef AGUI_FAILPOINTS

// What goes wrong, and where, while two requests wait and the first begins the run of both.
class QueueMoments : public queue_test {
protected:
    static constexpr std::string_view places[] = {
        "queue.store",       "queue.stored", "queue.waits",    "queue.read",
        "queue.taken",       "begin.loaded", "begin.planned",  "begin.stored",
        "launch.registered", "run.start",    "queue.answered", "admission.thread_taken",
        "admission.settled", "run.finish",   "run.ending",
    };

    // With `act` at the place: whatever it does, every stream ends, and the thread goes on.
    void try_at(
        std::string_view place, const std::function<void()>& act,
        const std::function<void()>& settle = [] {}
    ) {
        SCOPED_TRACE(place);
        const std::string thread = next_thread();
        const std::string number = std::to_string(++round_);
        const std::size_t calls = model.calls();
        raw_client first(port());
        first.send(post("/agui", body_of("r" + number, {}, thread)));
        ASSERT_TRUE(model.wait_for_calls(calls + 1));
        std::vector<std::unique_ptr<raw_client>> clients;
        std::vector<std::string> heads;
        std::atomic<bool> done{false};
        {
            const failpoint_hook hook([&](std::string_view passed) {
                if (passed == place && !done.exchange(true)) {
                    act();
                }
            });
            for (const char* name : {"p", "q"}) {
                clients.push_back(std::make_unique<raw_client>(port()));
                clients.back()->send(
                    post("/agui", body_of(name + number, {}, thread), "Connection: close\r\n")
                );
                // Both wait, or are refused, before the first run ends.
                heads.push_back(clients.back()->read_until("\r\n\r\n"));
            }
            for (int i = 0; i < 4; ++i) {
                model.answer({.text = "Answer"});
            }
            EXPECT_THAT(rest_of(first), HasSubstr("RUN_")) << "of the first run";
            for (std::size_t i = 0; i < clients.size(); ++i) {
                const std::string rest = clients[i]->read_until("nothing, until it is closed");
                EXPECT_TRUE(clients[i]->closed_by_peer());
                if (heads[i].starts_with("HTTP/1.1 200")) {
                    EXPECT_THAT(
                        types_of(rest).back(), ::testing::AnyOf("RUN_FINISHED", "RUN_ERROR")
                    );
                }
            }
        }
        EXPECT_TRUE(done) << "it was never passed";
        settle();
        const raw_reply next = ask(post("/agui", body_of("n" + number, {}, thread)));
        EXPECT_EQ(next.status, 200);
        EXPECT_THAT(types_of(next.body), ::testing::Contains("TEXT_MESSAGE_CONTENT")) << next.body;
        model.forget_answers();
    }

    [[nodiscard]] std::string next_thread() const { return "t" + std::to_string(round_ + 1); }

private:
    int round_ = 0;
};

TEST_P(QueueMoments, AMessageWaitsAlsoForTheFirstRunOfItsThread) {
    settings.session.busy_wait = std::chrono::seconds(20);
    start();
    std::promise<void> begins;
    std::promise<void> tried;
    std::atomic<int> begun{0};
    std::atomic<int> tries{0};
    const failpoint_hook hook([&](std::string_view place) {
        if (place == "begin.planned" && begun++ == 0) {
            begins.set_value();
            tried.get_future().wait_for(patience);
        } else if (place == "queue.store" && tries++ == 0) {
            tried.set_value();
        }
    });
    raw_client second(port());
    second.send(get("/healthz")); // Nothing is accepted while the first run stands still.
    EXPECT_EQ(second.read_reply().status, 200);
    raw_client first(port());
    first.send(post("/agui", body_of("r")));
    ASSERT_EQ(begins.get_future().wait_for(patience), std::future_status::ready);

    second.send(post("/agui", body_of("q")));

    EXPECT_THAT(second.read_until("RUN_STARTED"), HasSubstr("HTTP/1.1 200"));
    EXPECT_GT(tries, 0);
    model.answer({.text = "One"});
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(first), HasSubstr("One"));
    EXPECT_THAT(rest_of(second), HasSubstr("Two"));
}

TEST_P(QueueMoments, AHandOffAtTheLastMomentHoldsTheQueueToo) {
    start();
    const auto first = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto waiting = open(body_of("q"));
    raw_client other(port());
    other.send(get("/healthz")); // It is accepted before the server stands still.
    EXPECT_EQ(other.read_reply().status, 200);
    std::string again = body_of("again");
    again.replace(again.find("again-u"), 7, "r-u"); // Nothing new: the answer once more.
    std::atomic<bool> done{false};
    {
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "queue.begins" && !done.exchange(true)) {
                other.send(post("/agui", again));
                EXPECT_THAT(other.read_until("pendingToolCallIds"), HasSubstr("paint-1"));
            }
        });
        model.answer({.text = "One"});
        model.answer({.text = "Look", .call_id = "paint-1"});
        EXPECT_THAT(rest_of(*first), HasSubstr("One"));
        ASSERT_TRUE(model.wait_for_calls(2));
    }

    const auto answered = open(answer_body("a", "paint-1"));

    ASSERT_TRUE(model.wait_for_calls(3));
    EXPECT_EQ(model.request(2).back(), "tool: done");
    model.answer({.text = "Seen"});
    ASSERT_TRUE(model.wait_for_calls(4));
    EXPECT_EQ(model.request(3).back(), "user: q");
}

TEST_P(QueueMoments, AnErrorAnywhereLeavesNobodyWaiting) {
    start();
    for (const std::string_view place : places) {
        if (!place.starts_with("run.") && place != "queue.waits") {
            try_at(place, [] { throw std::runtime_error("a fault of the test"); });
        }
    }
}

TEST_P(QueueMoments, AStopAnywhereEndsAll) {
    start();
    for (const std::string_view place : places) {
        std::future<raw_reply> stopped;
        const std::string body = R"({"threadId":")" + next_thread() + R"("})";
        try_at(
            place,
            [&] {
                stopped = std::async(std::launch::async, [this, body] {
                    return ask(post("/agui/cancel", body));
                });
            },
            [&] { EXPECT_EQ(stopped.get().status, 200); }
        );
    }
}

INSTANTIATE_TEST_SUITE_P(
    Stores, QueueMoments, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& each) { return each.param == store_kind::memory ? "memory" : "sqlite"; }
);

#endif

INSTANTIATE_TEST_SUITE_P(
    Stores, Queue, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& each) { return each.param == store_kind::memory ? "memory" : "sqlite"; }
);

} // namespace
} // namespace agui::test
