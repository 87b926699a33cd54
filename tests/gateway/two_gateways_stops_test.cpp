// Two gateways on one store: a stop may come to either.

#include "tests/gateway/two_gateways_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string_view>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view stop_run = R"({"threadId":"t","runId":"r"})";

TEST_P(TwoGateways, ARunIsStoppedThroughTheOtherOne) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(ask_at(b(), post("/agui/cancel", stop_run)).body, R"({"cancelled":true})");

    EXPECT_THAT(rest_of(*there), HasSubstr("user_stop"));
}

TEST_F(TwoGatewaysOfOneProcess, AStopIsToldToTheGatewayThatHasTheRun) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    fake->lose_stops(1, 1000);

    EXPECT_EQ(ask_at(b(), post("/agui/cancel", stop_run)).body, R"({"cancelled":true})");

    EXPECT_THAT(rest_of(*there), HasSubstr("user_stop"));
}

// It is read there when the stop comes, and has no lease yet.
TEST_F(TwoGatewaysOfOneProcess, AStopThatFindsNoRunIsToldToAllGateways) {
    start_both();
    fake->lose_stops(1, 1000);

    EXPECT_EQ(ask_at(b(), post("/agui/cancel", stop_run)).body, R"({"cancelled":false})");

    EXPECT_THAT(ask_at(a(), post("/agui", body_of("r"))).body, HasSubstr("user_stop"));
    EXPECT_EQ(model.calls(), 0U);
}

// Its connection was lost, and it has not made another one yet.
TEST_F(TwoGatewaysOfOneProcess, AStopReachesAGatewayThatDidNotHearItAtFirst) {
    start_both();
    fake->hide_address(1);
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    fake->lose_stops(1, 2);

    EXPECT_EQ(ask_at(b(), post("/agui/cancel", stop_run)).body, R"({"cancelled":true})");

    EXPECT_THAT(rest_of(*there), HasSubstr("user_stop"));
}

// As one that is read from the database may.
TEST_F(TwoGatewaysOfOneProcess, AStopOfAThreadThatComesLateIsNotMeantForLaterMessages) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    const auto third = common->open();

    ASSERT_TRUE(outcome_of(third->request_stop({{"", "t"}, std::nullopt, std::chrono::minutes(1)}))
    );

    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
}

TEST_F(TwoGatewaysOfOneProcess, AStopThatMeetsNothingIsOver) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    fake->set_unavailable(2, "the server does not answer");

    const raw_reply reply =
        ask_at(b(), post("/agui/cancel", R"({"threadId":"t","runId":"another"})"));

    EXPECT_EQ(reply.body, R"({"cancelled":false})") << "no other gateway has to be told of it";
}

TEST_F(TwoGatewaysOfOneProcess, AStopThatCannotBePassedOnIsRefused) {
    start_both();
    fake->hide_address(1);
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));
    fake->set_unavailable(2, "the server does not answer");

    const raw_reply reply = ask_at(b(), post("/agui/cancel", stop_run));

    EXPECT_EQ(reply.status, 503);
    EXPECT_THAT(reply.body, HasSubstr("store_unavailable"));
}

TEST_P(TwoGateways, AStopThatNamesNoRunStopsTheOneElsewhere) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(
        ask_at(b(), post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})"
    );

    EXPECT_THAT(rest_of(*there), HasSubstr("user_stop"));
}

TEST_P(TwoGateways, AStopOfAnotherRunStopsNothingElsewhere) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(
        ask_at(b(), post("/agui/cancel", R"({"threadId":"t","runId":"other"})")).body,
        R"({"cancelled":false})"
    );

    model.answer({.text = "Hello"});
    EXPECT_THAT(rest_of(*there), HasSubstr("RUN_FINISHED"));
}

// The stop overtakes the request, and reaches the other gateway.
TEST_P(TwoGateways, AStopAppliesToARequestThatComesToTheOtherOneLater) {
    start_both();
    ask_at(b(), post("/agui/cancel", stop_run));

    const raw_reply reply = ask_at(a(), post("/agui", body_of("r")));

    EXPECT_THAT(reply.body, HasSubstr("user_stop"));
    EXPECT_EQ(model.calls(), 0U);
}

} // namespace
} // namespace agui::test
