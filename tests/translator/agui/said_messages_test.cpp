#include "translator/agui/said_messages.hpp"

#include "translator/agui/event_reader.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>
#include <vector>

namespace agui::translator {
namespace {

std::vector<session::message> said_in(std::initializer_list<std::string_view> events) {
    said_messages said;
    for (const std::string_view event : events) {
        said.read(parse_event(event));
    }
    return said.messages();
}

TEST(SaidMessages, AreRebuiltFromTheirDeltas) {
    const auto messages = said_in({
        R"({"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"hm"})",
        R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Lo"})",
        R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ok"})",
    });

    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[0].role, session::role::reasoning);
    EXPECT_EQ(session::text_of(messages[0].content), "hm");
    EXPECT_EQ(messages[1].role, session::role::assistant);
    EXPECT_EQ(messages[1].id, "m");
    EXPECT_EQ(session::text_of(messages[1].content), "Look");
}

TEST(SaidMessages, ACallThatIsReopenedContinues) {
    const auto messages = said_in({
        R"({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"})",
        R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\":"})",
        // A call is interrupted by text (S9).
        R"({"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"})",
        R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"1}"})",
    });

    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].id, "m");
    ASSERT_EQ(messages[0].tool_calls.size(), 1U);
    EXPECT_EQ(messages[0].tool_calls[0].name, "f");
    EXPECT_EQ(messages[0].tool_calls[0].arguments, R"({"a":1})");
}

TEST(SaidMessages, SkipsInvalidEventsAndUnknownCalls) {
    EXPECT_TRUE(said_in({
                            "",
                            "{\"type\":",
                            "not json",
                            "[1]",
                            "{\"type\":7}",
                            R"({"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"1"})",
                        })
                    .empty());
}

} // namespace
} // namespace agui::translator
