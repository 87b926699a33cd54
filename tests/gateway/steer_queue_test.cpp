// Requests for a busy thread whose messages the active run takes: `session.on_busy = "steer"`.

#include "tests/gateway/steer_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace agui::test {
namespace {

#ifdef AGUI_FAILPOINTS

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SteerQueue : public steer_test {
protected:
    /// Begins run `r`, and returns true once request `q` waits for it.
    bool let_request_wait() {
        reader = open(body_of("r"));
        if (!model.wait_for_calls(1)) {
            return false;
        }
        places.emplace();
        waiting = open(body_of("q"));
        return places->wait_for("queue.offered");
    }

    std::unique_ptr<raw_client> waiting;
};

INSTANTIATE_TEST_SUITE_P(
    Stores, SteerQueue, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& info) { return info.param == store_kind::memory ? "memory" : "sqlite"; }
);

TEST_P(SteerQueue, ATakenRequestIsARunOfItsOwn) {
    start();
    ASSERT_TRUE(let_request_wait());

    model.answer({.text = "One"});
    const std::string taken = rest_of(*waiting);
    EXPECT_THAT(queued(), IsEmpty());
    model.answer({.text = "Two"});
    const std::string stream = rest_of(*reader);

    EXPECT_THAT(types_of(taken), ElementsAre("CUSTOM", "RUN_FINISHED"));
    const std::string number = std::to_string(number_of(stream, "MESSAGES_SNAPSHOT"));
    EXPECT_THAT(
        taken,
        HasSubstr(
            R"("name":"agui-gateway.message.taken","value":{"runId":"r","messageIds":["q-u"],)"
            R"("seq":)" +
            number + "}"
        )
    );
    EXPECT_EQ(conversation(), "r-u - q-u -");
    EXPECT_EQ(model.calls(), 2U);
    const raw_reply again = ask(post("/agui", body_of("q")));
    EXPECT_THAT(again.body, HasSubstr(taken.substr(taken.find("data: "), 100)));
    EXPECT_EQ(types_of(again.body), types_of(events_of("q").body));
    EXPECT_EQ(model.calls(), 2U) << "a repeat reads the same end";
    if (GetParam() == store_kind::sqlite) {
        server.reset();
        use_model();
        start();
        EXPECT_EQ(ask(post("/agui", body_of("q"))).body, again.body) << "after a restart";
    }
}

TEST_P(SteerQueue, ARequestThatIsNotTakenRunsAsAnyOther) {
    settings.session.queue_hold = std::chrono::seconds(0);
    start();
    ASSERT_TRUE(let_request_wait());

    model.answer({.call_id = "c"});
    EXPECT_THAT(rest_of(*reader), HasSubstr("TOOL_CALL_END"));
    model.answer({.text = "Two"});

    EXPECT_THAT(
        types_of(rest_of(*waiting)),
        ElementsAre(
            "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"
        )
    );
    EXPECT_EQ(conversation(), "r-u - result q-u -");
    EXPECT_THAT(queued(), IsEmpty());
}

TEST_P(SteerQueue, SeveralRequestsAreTakenInTheirOrder) {
    start();
    const auto reader = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    passed_places places;
    const auto first = open(body_of("q1"));
    const auto second = open(body_of("q2"));
    ASSERT_TRUE(places.wait_for("queue.offered", 2));

    model.answer({.text = "One"});
    EXPECT_THAT(types_of(rest_of(*first)), ElementsAre("CUSTOM", "RUN_FINISHED"));
    EXPECT_THAT(types_of(rest_of(*second)), ElementsAre("CUSTOM", "RUN_FINISHED"));
    model.answer({.text = "Two"});
    rest_of(*reader);

    EXPECT_EQ(conversation(), "r-u - q1-u q2-u -");
    EXPECT_EQ(model.calls(), 2U);
}

TEST_P(SteerQueue, AStopWithdrawsAMessageThatWaits) {
    start();
    ASSERT_TRUE(let_request_wait());

    EXPECT_EQ(
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"q"})")).body, R"({"cancelled":true})"
    );
    EXPECT_THAT(types_of(rest_of(*waiting)), ElementsAre("CUSTOM", "RUN_FINISHED"));
    model.answer({.text = "One"});
    rest_of(*reader);

    EXPECT_EQ(conversation(), "r-u -");
    EXPECT_THAT(queued(), IsEmpty());
}

TEST_P(SteerQueue, ARequestOfAnotherAgentWaitsForTheNextRun) {
    settings.agents.push_back(settings.agents.front());
    settings.agents.back().id = "other";
    start();
    const auto reader = open(body_of("r"));
    ASSERT_TRUE(model.wait_for_calls(1));
    raw_client other(port());
    other.send(post("/agui/agents/other", body_of("q")));
    EXPECT_THAT(other.read_until("RUN_STARTED"), HasSubstr("200"));

    model.answer({.text = "One"});
    rest_of(*reader);
    model.answer({.text = "Two"});

    EXPECT_THAT(rest_of(other), HasSubstr("Two"));
    EXPECT_EQ(conversation(), "r-u - q-u -");
}

TEST_P(SteerQueue, BothFormsAreTakenTogether) {
    start();
    ASSERT_TRUE(let_request_wait());
    const auto steering = steer("s");
    ASSERT_TRUE(places->wait_for("steer.waits"));

    model.answer({.text = "One"});
    EXPECT_EQ(steering->read_reply().status, 200);
    EXPECT_THAT(types_of(rest_of(*waiting)), ElementsAre("CUSTOM", "RUN_FINISHED"));
    model.answer({.text = "Two"});
    rest_of(*reader);

    EXPECT_EQ(conversation(), "r-u - s q-u -");
}

TEST_P(SteerQueue, ARepeatOfASteeredMessageIsNotTakenTwice) {
    start();
    ASSERT_TRUE(let_request_wait());
    const auto steering = steer("q-u");
    ASSERT_TRUE(places->wait_for("steer.waits"));

    model.answer({.text = "One"});
    EXPECT_EQ(steering->read_reply().status, 200);
    EXPECT_THAT(types_of(rest_of(*waiting)), ElementsAre("CUSTOM", "RUN_FINISHED"));
    model.answer({.text = "Two"});
    rest_of(*reader);

    EXPECT_EQ(conversation(), "r-u - q-u -");
}

#endif

} // namespace
} // namespace agui::test
