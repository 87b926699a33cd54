// The texts of messages, as stores write and read them.
#include "session/store/stored_messages.hpp"

#include "session/base/stored_json.hpp"
#include "session/conversation/message_json.hpp"

#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::session {
namespace {

result<message> read(std::string_view text) {
    message to;
    if (read_stored_message(text, {"", "t"}, 0, to, null_logger())) {
        return to;
    }
    message left_out;
    left_out.role = role::activity;
    EXPECT_EQ(to, left_out) << text;
    return failure{errc::invalid_input, {}};
}

// Messages that are only text are read without a tree of values. Both ways must agree.
void expect_as_json_is_read(std::string_view text) {
    const result<boost::json::value> value = parse_stored(text);
    const result<message> expected =
        value ? message_from_stored_json(*value) : result<message>(value.error());
    const result<message> found = read(text);
    ASSERT_EQ(found.has_value(), expected.has_value()) << text;
    if (found) {
        EXPECT_EQ(*found, *expected) << text;
    }
}

TEST(StoredMessages, AreReadAsTheirJson) {
    for (const std::string_view text : {
             R"({"id":"m1","role":"user","content":"Hello"})",
             R"({"id":"m1","role":"user","content":"a\"\\\n\u00e4\ud83d\ude00 \u4f60 ä","name":"n"})",
             "{\"id\":\"m1\",\"role\":\"user\",\"content\":\"\xFF\xC3\"}",
             R"( { "role" : "user" } )",
             R"({"id":"","role":"assistant"})",
             R"({"id":"m1","role":"system","content":"Be brief."})",
             R"({"id":"m1","role":"reasoning","content":"Hm."})",
             R"({"id":"m1","role":"tool","content":"7","toolCallId":"c1","name":"add"})",
             R"({"id":"m1","role":"tool","content":"7","toolCallId":"c1","error":"no"})",
             R"({"id":"m1","role":"tool","content":"7","toolCallId":""})",
             R"({"id":"m1","role":"tool","content":"7","tool_id":"c1"})",
             R"({"id":"m1","role":"tool","content":"7"})",
             R"({"id":"m1","role":"user","content":"7","toolCallId":"c1"})",
             R"({"id":"m1","role":"activity","activityType":"a","content":{"b":1}})",
             R"({"id":"m1","role":"activity","content":"text"})",
             R"({"id":"m1","role":"user","content":[{"type":"text","text":"Hi"}]})",
             R"({"id":"m1","role":"user","content":"a","metadata":{"role":"tool"}})",
             R"({"id":"m1","role":"user","content":"a","content":"b"})",
             R"({"id":"m1","role":"user","content":"a","other":"b"})",
             R"({"id":"m1","role":"user","content":null})",
             R"({"id":"m1","role":"user","content":7})",
             R"({"id":"m1","role":"user","content":"a","byPlugin":true})",
             R"({"id":"m1","role":"assistant","content":"a","forModel":"b"})",
             R"({"id":"m1","role":"assistant","content":"a","subagentRunId":"r"})",
             R"({"id":"m1","role":"assistant","toolCalls":[{"id":"c1","type":"function",)"
             R"("function":{"name":"add","arguments":"{}"}}]})",
             R"({"id":"m1","role":"nobody","content":"a"})",
             R"({"id":"m1","content":"a"})",
             R"({})",
             R"("user")",
             R"(["user"])",
             R"(7)",
             R"()",
             R"({"id":"m1","role":"user","content":"a")",
             R"({"id":"m1","role":"user","content":"a"}})",
         }) {
        expect_as_json_is_read(text);
    }
}

TEST(StoredMessages, KeepALongText) {
    message given;
    given.id = "m1";
    given.role = role::assistant;
    std::string text;
    for (int i = 0; i < 20'000; ++i) {
        text += i % 7 == 0 ? "\n\"\xE4\xBD\xA0" : "word ";
    }
    given.content = text;
    const result<message> found = read(boost::json::serialize(to_stored_json(given)));
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, given);
}

} // namespace
} // namespace agui::session
