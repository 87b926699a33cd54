#include "gateway/lost_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::gateway {
namespace {

using ::testing::ElementsAre;

void read(lost_run& run, std::string_view json) {
    run.read("id: 1\ndata: " + std::string(json) + "\n\n");
}

std::vector<std::string> closing(const lost_run& run) {
    translator::event_writer writer;
    std::vector<std::string> events;
    run.close(writer, events);
    return events;
}

TEST(LostRun, ClosesWhatIsOpenInnermostFirst) {
    lost_run run;
    read(run, R"({"type":"REASONING_START","messageId":"r"})");
    read(run, R"({"type":"REASONING_MESSAGE_START","messageId":"r","role":"reasoning"})");
    read(run, R"({"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f"})");
    read(run, R"({"type":"TOOL_CALL_END","toolCallId":"c1"})");

    EXPECT_THAT(
        closing(run), ElementsAre(
                          R"({"type":"REASONING_MESSAGE_END","messageId":"r"})",
                          R"({"type":"REASONING_END","messageId":"r"})"
                      )
    );
}

TEST(LostRun, RebuildsWhatWasSaid) {
    lost_run run;
    read(run, R"({"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"hm"})");
    read(run, R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Lo"})");
    read(run, R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ok"})");
    read(run, R"({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"})");
    read(run, R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\":"})");
    // Text in the middle of a call: the call is begun again, to go on (S9).
    read(run, R"({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"})");
    read(run, R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"1}"})");

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
    run.read(": comment\n\n");
    run.read("id: 1\ndata: not json\n\n");
    run.read("id: 2\ndata: [1]\n\n");
    run.read("id: 3\ndata: {\"type\":7}\n\n");

    EXPECT_TRUE(closing(run).empty());
    EXPECT_TRUE(run.messages().empty());
}

} // namespace
} // namespace agui::gateway
