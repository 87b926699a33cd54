#include "gateway/runs/lost_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::gateway {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> closing(const lost_run& run) {
    translator::event_writer writer;
    std::vector<std::string> events;
    run.close(writer, events);
    return events;
}

TEST(LostRun, ClosesWhatIsOpenInnermostFirst) {
    lost_run run;
    run.read(R"({"type":"REASONING_START","messageId":"r"})");
    run.read(R"({"type":"REASONING_MESSAGE_START","messageId":"r","role":"reasoning"})");
    run.read(R"({"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f"})");
    run.read(R"({"type":"TOOL_CALL_END","toolCallId":"c1"})");

    EXPECT_THAT(
        closing(run), ElementsAre(
                          R"({"type":"REASONING_MESSAGE_END","messageId":"r"})",
                          R"({"type":"REASONING_END","messageId":"r"})"
                      )
    );
}

TEST(LostRun, RebuildsWhatWasSaid) {
    lost_run run;
    run.read(R"({"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"hm"})");
    run.read(R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Lo"})");
    run.read(R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ok"})");
    run.read(
        R"({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"})"
    );
    run.read(R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\":"})");
    // Text in the middle of a call: the call is begun again, to go on (S9).
    run.read(
        R"({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"})"
    );
    run.read(R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"1}"})");

    ASSERT_EQ(run.messages().size(), 2U);
    EXPECT_EQ(run.messages()[0].role, session::role::reasoning);
    EXPECT_EQ(session::text_of(run.messages()[0].content), "hm");
    EXPECT_EQ(run.messages()[1].role, session::role::assistant);
    EXPECT_EQ(session::text_of(run.messages()[1].content), "Look");
    ASSERT_EQ(run.messages()[1].tool_calls.size(), 1U);
    EXPECT_EQ(run.messages()[1].tool_calls[0].name, "f");
    EXPECT_EQ(run.messages()[1].tool_calls[0].arguments, R"({"a":1})");
}

TEST(LostRun, PassesOverWhatIsNoEvent) {
    lost_run run;
    run.read("");
    run.read("{\"type\":");
    run.read("not json");
    run.read("[1]");
    run.read("{\"type\":7}");

    EXPECT_TRUE(closing(run).empty());
    EXPECT_TRUE(run.messages().empty());
}

} // namespace
} // namespace agui::gateway
