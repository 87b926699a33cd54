#include "translator/ui_message/tanstack_messages.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::translator {
namespace {

namespace json = boost::json;

std::string for_tanstack(std::string_view messages) {
    return json::serialize(tanstack_messages(json::parse(messages).as_array()));
}

TEST(TanstackMessages, ResultsAndThoughtsArePartsOfTheAnswer) {
    EXPECT_EQ(
        for_tanstack(R"([
            {"id":"s","role":"system","content":"x"},
            {"id":"u1","role":"user","content":"Weather?"},
            {"id":"r1","role":"reasoning","content":"Hm."},
            {"id":"m1","role":"assistant","content":"I look.","toolCalls":[{"id":"c1","type":"function",
                "function":{"name":"weather","arguments":"{\"a\":1}"}}]},
            {"id":"t1","role":"tool","toolCallId":"c1","content":"{\"sun\":true}"},
            {"id":"m2","role":"assistant","content":"Sunny."}])"),
        R"([{"id":"u1","role":"user","parts":[{"type":"text","content":"Weather?"}]},)"
        R"({"id":"m1","role":"assistant","parts":[{"type":"thinking","content":"Hm."},)"
        R"({"type":"text","content":"I look."},{"type":"tool-call","id":"c1","name":"weather",)"
        R"("arguments":"{\"a\":1}","state":"complete","input":{"a":1},"output":{"sun":true}},)"
        R"({"type":"tool-result","toolCallId":"c1","content":"{\"sun\":true}","state":"complete"}]},)"
        R"({"id":"m2","role":"assistant","parts":[{"type":"text","content":"Sunny."}]}])"
    );
}

TEST(TanstackMessages, OpenAndFailedCalls) {
    EXPECT_EQ(
        for_tanstack(R"([{"id":"m1","role":"assistant","toolCalls":[
            {"id":"c1","function":{"name":"a","arguments":"{no"}},
            {"id":"c2","function":{"name":"a","arguments":""}}]},
            {"id":"t2","role":"tool","toolCallId":"c2","content":"{\"error\":\"broken\"}","error":"broken"},
            {"id":"t3","role":"tool","toolCallId":"unknown","content":"x"}])"),
        R"([{"id":"m1","role":"assistant","parts":[)"
        R"({"type":"tool-call","id":"c1","name":"a","arguments":"{no","state":"input-complete"},)"
        R"({"type":"tool-call","id":"c2","name":"a","arguments":"","state":"error","input":{},)"
        R"("output":{"error":"broken"}},{"type":"tool-result","toolCallId":"c2",)"
        R"("content":"{\"error\":\"broken\"}","state":"error","error":"broken"}]}])"
    );
}

TEST(TanstackMessages, PicturesStayAndSubagentsTextsGo) {
    EXPECT_EQ(
        for_tanstack(R"([{"id":"u","role":"user","content":[{"type":"text","text":"Look:"},
            {"type":"image","source":{"type":"data","value":"QUJD","mimeType":"image/png"}}]},
            {"id":"m","role":"assistant","content":"hidden","subagentRunId":"s"},
            {"id":"n","role":"user","content":"hidden","subagentRunId":"s"}])"),
        R"([{"id":"u","role":"user","parts":[{"type":"text","content":"Look:"},)"
        R"({"type":"image","source":{"type":"data","value":"QUJD","mimeType":"image/png"}}]}])"
    );
    EXPECT_EQ(for_tanstack("[]"), "[]");
}

} // namespace
} // namespace agui::translator
