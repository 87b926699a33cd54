#include "session/base/json_text.hpp"

#include "session/conversation/thread.hpp"

#include <gtest/gtest.h>

#include <string>

namespace agui::session {
namespace {

TEST(JsonText, IsNullAtFirst) {
    EXPECT_TRUE(json_text().is_null());
    EXPECT_EQ(json_text().view(), "null");
    EXPECT_EQ(json_text("null"), json_text());
    EXPECT_TRUE(json_text("null").is_null());
    EXPECT_FALSE(json_text("0").is_null());
}

TEST(JsonText, IsEqualToTheSameText) {
    const json_text text(R"({"a":1})");
    EXPECT_EQ(text, json_text(R"({"a":1})"));
    EXPECT_NE(text, json_text(R"({"a":2})"));
    EXPECT_NE(text, json_text());
    EXPECT_TRUE(json_text("{}").is_empty_object());
    EXPECT_FALSE(text.is_empty_object());
}

TEST(JsonText, IsSharedByAChangeAndItsThread) {
    changes change;
    change.state = json_text('"' + std::string(1U << 20U, 'x') + '"');
    thread_record thread;
    apply(thread, change);
    const thread_record copy = thread;
    EXPECT_EQ(copy.state.view().data(), change.state->view().data());
}

} // namespace
} // namespace agui::session
