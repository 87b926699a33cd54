#pragma once

#include "translator/chat_stream/chat_messages.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// The frames of these events for a reader that gets every frame, of session `s` and message `m`,
/// without their common beginning.
inline std::vector<std::string>
frames(translator::chat_mode mode, const std::vector<std::string>& events) {
    constexpr std::string_view head = R"({"sessionId":"s","messageId":"m","msgStatus":")";
    translator::chat_messages messages("s", "m", mode);
    std::vector<std::string> out;
    for (const std::string& event : events) {
        messages.take(event);
        if (messages.changed()) {
            std::string frame;
            messages.write_frame(frame);
            EXPECT_TRUE(frame.starts_with(head)) << frame;
            EXPECT_EQ(frame.find_first_of("\r\n"), std::string::npos);
            out.push_back(frame.substr(head.size()));
        }
    }
    return out;
}

} // namespace agui::test
