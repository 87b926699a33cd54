// User messages for a run that another gateway has.

#include "tests/gateway/steer_fixture.hpp"
#include "tests/gateway/two_gateways_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace agui::test {
namespace {

#ifdef AGUI_FAILPOINTS

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TwoGatewaysSteer : public TwoGateways {
protected:
    TwoGatewaysSteer() { settings.session.on_busy = gateway::busy_policy::steer; }

    /// With a run of thread `t` at A.
    std::unique_ptr<raw_client> start_with_run() {
        start_both();
        auto client = open(a(), post("/agui", body_of("r")));
        EXPECT_TRUE(model.wait_for_calls(1));
        return client;
    }

    static std::unique_ptr<raw_client> steer_at(std::uint16_t port, std::string_view id) {
        auto client = std::make_unique<raw_client>(port);
        client->send(post("/agui/steer", steer_body(id)));
        return client;
    }
};

INSTANTIATE_TEST_SUITE_P(
    Stores, TwoGatewaysSteer,
    ::testing::Values(common_store_kind::doors, common_store_kind::postgres), name_of_store
);

TEST_P(TwoGatewaysSteer, AMessageReachesTheRunThroughTheOtherGateway) {
    const auto reader = start_with_run();
    std::unique_ptr<raw_client> steering;
    {
        passed_places places;
        steering = steer_at(b(), "s");
        ASSERT_TRUE(places.wait_for("steer.waits"));
    }
    model.answer({.text = "One"});

    const raw_reply answer = steering->read_reply();
    EXPECT_EQ(answer.status, 200) << answer.body;
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: text of s"));
    EXPECT_EQ(ask_at(b(), post("/agui/steer", steer_body("s"))).body, answer.body);
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*reader), HasSubstr("Two"));
    EXPECT_EQ(ask_at(b(), post("/agui/steer", steer_body("s"))).body, answer.body);
    EXPECT_EQ(ask_at(a(), post("/agui/steer", steer_body("s"))).body, answer.body);
}

TEST_P(TwoGatewaysSteer, AMessageIsReturnedThroughTheOtherGateway) {
    const auto reader = start_with_run();
    std::unique_ptr<raw_client> steering;
    {
        passed_places places;
        steering = steer_at(b(), "s");
        ASSERT_TRUE(places.wait_for("steer.waits"));
    }
    model.answer({.call_id = "c"});

    const raw_reply answer = steering->read_reply();
    EXPECT_EQ(answer.status, 409);
    EXPECT_EQ(error_code(answer), "run_ended");
    rest_of(*reader);
    EXPECT_EQ(error_code(ask_at(b(), post("/agui/steer", steer_body("s")))), "run_ended");
    EXPECT_EQ(model.calls(), 1U);
}

TEST_P(TwoGatewaysSteer, TheRunTakesARequestOfTheOtherGateway) {
    const auto reader = start_with_run();
    std::unique_ptr<raw_client> waiting;
    {
        passed_places places;
        waiting = open(b(), post("/agui", body_of("q")));
        ASSERT_TRUE(places.wait_for("queue.offered"));
    }
    model.answer({.text = "One"});

    EXPECT_THAT(types_of(rest_of(*waiting)), ElementsAre("CUSTOM", "RUN_FINISHED"));
    ASSERT_TRUE(model.wait_for_calls(2));
    EXPECT_THAT(model.request(1), ElementsAre("user: r", "assistant: One", "user: q"));
    model.answer({.text = "Two"});
    EXPECT_THAT(rest_of(*reader), HasSubstr("Two"));
    const raw_reply again = ask_at(a(), post("/agui", body_of("q")));
    EXPECT_THAT(again.body, HasSubstr("agui-gateway.message.taken"));
    EXPECT_EQ(ask_at(b(), post("/agui", body_of("q"))).body, again.body);
    EXPECT_EQ(model.calls(), 2U);
}

TEST_P(TwoGatewaysSteer, ARunIsOnlyMeantByItsId) {
    const auto reader = start_with_run();

    const raw_reply other = ask_at(b(), post("/agui/steer", steer_body("s", "other")));

    EXPECT_EQ(error_code(other), "run_ended");
    model.answer({.text = "One"});
    EXPECT_THAT(rest_of(*reader), HasSubstr("RUN_FINISHED"));
}

#endif

} // namespace
} // namespace agui::test
