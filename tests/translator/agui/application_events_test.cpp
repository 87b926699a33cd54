#include "tests/translator/agui/agui_translator_case.hpp"
#include "translator/agui/wire_content.hpp"

namespace agui::translator {
namespace {

using namespace agui_translator_case;

class ApplicationEvents : public AguiTranslator {
protected:
    void step(std::string_view name) { translator_.translate(runner::step_started{name}); }
    void step_ended(std::string_view name) { translator_.translate(runner::step_finished{name}); }
};

TEST_F(ApplicationEvents, StepsEndBeforeTheTerminalTheLastOneFirst) {
    start();
    step("a");
    step("b");
    text("m1", "Hi");
    finish(stop_reason::error);

    EXPECT_EQ(stream_.lines()[5], R"({"type":"TEXT_MESSAGE_END","timestamp":7,"messageId":"m1"})");
    EXPECT_EQ(stream_.lines()[6], R"({"type":"STEP_FINISHED","timestamp":7,"stepName":"b"})");
    EXPECT_EQ(stream_.lines()[7], R"({"type":"STEP_FINISHED","timestamp":7,"stepName":"a"})");
    EXPECT_THAT(stream_.lines()[8], HasSubstr("RUN_ERROR"));
}

TEST_F(ApplicationEvents, AStepIsOpenOnceAndMayBeginAgain) {
    start();
    step("a");
    step("a");
    step_ended("b");
    step_ended("a");
    step_ended("a");
    step("a");
    finish(stop_reason::completed);

    EXPECT_EQ(stream_.lines().size(), 6U);
}

// The stream and the snapshot show the same.
TEST_F(ApplicationEvents, AnActivityShowsItsDataPartAsALink) {
    session::message activity;
    activity.id = "a1";
    activity.role = session::role::activity;
    activity.activity_type = "generated-media";
    activity.activity = {{"sha256", "abc"}};
    activity.content = boost::json::array{{{"type", "image"}}};
    session::message other = activity;
    other.id = "a2";
    other.content = std::string();
    const std::vector<session::message> all = {activity, other};
    agui_translator linking(stream_, {.part_link = [](std::string_view sha256, unix_ms now) {
                                return std::string(sha256) + "@" + std::to_string(now);
                            }});

    linking.set_time(7);
    linking.start({.thread_id = "t", .run_id = "r", .parent_run_id = {}});
    linking.translate(runner::activity_shown{&activity});
    linking.translate(runner::messages_snapshot{&all});

    EXPECT_THAT(stream_.lines()[1], HasSubstr(R"("content":{"sha256":"abc","url":"abc@7"}})"));
    for (const projection form : {projection::v1_1, projection::undeclared}) {
        EXPECT_THAT(
            stream_.lines(form)[2],
            HasSubstr(R"("content":{"sha256":"abc","url":"abc@7"},"activityType")")
        );
        EXPECT_THAT(
            stream_.lines(form)[2], HasSubstr(R"("content":{"sha256":"abc"},"activityType")")
        );
    }
}

TEST_F(ApplicationEvents, AnActivityWithoutALinkHasNoUrl) {
    session::message activity;
    activity.role = session::role::activity;
    activity.activity = {{"sha256", "abc"}};
    activity.content = boost::json::array{{{"type", "image"}}};

    EXPECT_EQ(wire_activity(activity, {}), activity.activity);
    EXPECT_EQ(
        wire_activity(activity, [](std::string_view) { return std::string(); }), activity.activity
    );
}

TEST_F(ApplicationEvents, PassBetweenTheDeltasOfAText) {
    session::message activity;
    activity.id = "a1";
    activity.role = session::role::activity;
    activity.activity_type = "card";
    activity.activity = {{"n", 1}};
    activity.metadata = {{"k", 2}};
    const json_text state(R"({"s":1})");
    start();
    text("m1", "One");
    translator_.translate(runner::activity_shown{&activity, false});
    translator_.translate(runner::activity_patched{"a1", "card", "[]"});
    translator_.translate(runner::state_shown{&state});
    translator_.translate(runner::state_shown{&state, R"([{"op":"remove","path":"/s"}])"});
    translator_.translate(runner::custom_sent{"c", "null"});
    translator_.translate(runner::raw_sent{"[1]", ""});
    text("m1", "Two");
    finish(stop_reason::completed);

    const std::vector<std::string> lines = stream_.lines();
    EXPECT_EQ(
        lines[3],
        R"({"type":"ACTIVITY_SNAPSHOT","timestamp":7,"messageId":"a1","activityType":"card","content":{"n":1},"replace":false,"metadata":{"k":2}})"
    );
    EXPECT_EQ(
        lines[4],
        R"({"type":"ACTIVITY_DELTA","timestamp":7,"messageId":"a1","activityType":"card","patch":[]})"
    );
    EXPECT_EQ(lines[5], R"({"type":"STATE_SNAPSHOT","timestamp":7,"snapshot":{"s":1}})");
    EXPECT_EQ(
        lines[6], R"({"type":"STATE_DELTA","timestamp":7,"delta":[{"op":"remove","path":"/s"}]})"
    );
    EXPECT_EQ(lines[7], R"({"type":"CUSTOM","timestamp":7,"name":"c","value":null})");
    EXPECT_EQ(lines[8], R"({"type":"RAW","timestamp":7,"event":[1]})");
    EXPECT_EQ(lines[9], R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Two"})");
}

} // namespace
} // namespace agui::translator
