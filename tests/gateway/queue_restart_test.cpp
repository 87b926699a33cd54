// Messages that a server leaves in queues are answered after its restart.

#include "tests/gateway/queue_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace agui::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

} // namespace
} // namespace agui::test
