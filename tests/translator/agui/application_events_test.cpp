#include "tests/translator/agui/agui_translator_case.hpp"

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
