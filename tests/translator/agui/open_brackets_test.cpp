#include "translator/agui/open_brackets.hpp"

#include "translator/agui/event_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> open_after(std::initializer_list<std::string_view> events) {
    open_brackets brackets;
    for (const std::string_view event : events) {
        brackets.read(parse_event(event));
    }
    std::vector<std::string> open;
    for (const open_brackets::bracket& one : brackets.open()) {
        open.push_back(std::string(one.end_type) + " " + std::string(one.id_key) + "=" + one.id);
    }
    return open;
}

TEST(OpenBrackets, AreThoseWithoutAnEndOutermostFirst) {
    EXPECT_THAT(
        open_after({
            R"({"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"f"})",
            R"({"type":"TOOL_CALL_END","toolCallId":"c1"})",
            R"({"type":"REASONING_START","messageId":"r"})",
            R"({"type":"REASONING_MESSAGE_START","messageId":"r","role":"reasoning"})",
        }),
        ElementsAre("REASONING_END messageId=r", "REASONING_MESSAGE_END messageId=r")
    );
    EXPECT_THAT(
        open_after({
            R"({"type":"STEP_STARTED","stepName":"a"})",
            R"({"type":"STEP_STARTED","stepName":"b"})",
            R"({"type":"STEP_FINISHED","stepName":"a"})",
        }),
        ElementsAre("STEP_FINISHED stepName=b")
    );
}

TEST(OpenBrackets, AnEndIsOfItsOwnKindAndId) {
    EXPECT_THAT(
        open_after({
            R"({"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"})",
            R"({"type":"TOOL_CALL_START","toolCallId":"m","toolCallName":"f"})",
            R"({"type":"TOOL_CALL_END","toolCallId":"other"})",
            R"({"type":"TEXT_MESSAGE_END","messageId":"m"})",
        }),
        ElementsAre("TOOL_CALL_END toolCallId=m")
    );
}

TEST(OpenBrackets, SkipsInvalidEvents) {
    EXPECT_THAT(open_after({"", "{\"type\":", "not json", "[1]", "{\"type\":7}", "{}"}), IsEmpty());
}

} // namespace
} // namespace agui::translator
