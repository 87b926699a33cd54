#include "translator/ui_message/ui_messages.hpp"

#include "translator/ui_message/ui_values.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::translator {
namespace {

namespace json = boost::json;

std::string ui_shown(std::string_view messages) {
    ui_messages made;
    const json::value given = json::parse(messages);
    for (const json::value& each : given.as_array()) {
        made.take(each.as_object());
    }
    return json::serialize(std::move(made).release());
}

json::array ui_parts_of(std::string_view messages) {
    const json::value all = json::parse(ui_shown(messages));
    return all.as_array().back().as_object().at("parts").as_array();
}

TEST(UiMessages, AnAnswerIsOneMessageWithAStepForEachAnswerOfTheModel) {
    EXPECT_EQ(
        ui_shown(R"([
            {"id":"s","role":"system","content":"x"},
            {"id":"u1","role":"user","content":"Weather?"},
            {"id":"r1","role":"reasoning","content":"Hm."},
            {"id":"m1","role":"assistant","content":"I look.","toolCalls":[{"id":"c1","type":"function",
                "function":{"name":"weather","arguments":"{\"town\":\"Bern\"}"}}]},
            {"id":"t1","role":"tool","toolCallId":"c1","content":"{\"sun\":true}"},
            {"id":"m2","role":"assistant","content":"It is sunny."},
            {"id":"u2","role":"user","content":"Thanks."}])"),
        R"([{"id":"u1","role":"user","parts":[{"type":"text","text":"Weather?","state":"done"}]},)"
        R"({"id":"u1-answer","role":"assistant","parts":[{"type":"step-start"},)"
        R"({"type":"reasoning","text":"Hm.","state":"done"},)"
        R"({"type":"text","text":"I look.","state":"done"},)"
        R"({"type":"tool-weather","toolCallId":"c1","state":"output-available",)"
        R"("input":{"town":"Bern"},"output":{"sun":true}},{"type":"step-start"},)"
        R"({"type":"text","text":"It is sunny.","state":"done"}]},)"
        R"({"id":"u2","role":"user","parts":[{"type":"text","text":"Thanks.","state":"done"}]}])"
    );
}

TEST(UiMessages, CallsShowHowTheyEnded) {
    constexpr std::string_view call = R"({"id":"m1","role":"assistant","toolCalls":[{"id":"c1",)"
                                      R"("function":{"name":"a","arguments":"{}"}}])";
    const auto part = [&](std::string_view rest) {
        const json::array parts = ui_parts_of("[" + std::string(call) + std::string(rest) + "]");
        EXPECT_EQ(parts.size(), 2U);
        return json::serialize(parts.back());
    };
    EXPECT_EQ(
        part("}"), R"({"type":"tool-a","toolCallId":"c1","state":"input-available","input":{}})"
    );
    EXPECT_EQ(
        part(R"(},{"id":"t","role":"tool","toolCallId":"c1","content":"x","error":"broken"})"),
        R"({"type":"tool-a","toolCallId":"c1","state":"output-error","input":{},"errorText":"broken"})"
    );
    EXPECT_EQ(
        part(R"(},{"id":"c1:missing","role":"tool","toolCallId":"c1","error":"x",)"
             R"("content":"{\"error\":\"The call was not allowed.\"}"})"),
        R"({"type":"tool-a","toolCallId":"c1","state":"output-denied","input":{},)"
        R"("approval":{"id":"c1","approved":false}})"
    );
    EXPECT_EQ(
        part(R"(,"metadata":{"custom":{"agui":{"interrupts":[)"
             R"({"id":"i","reason":"tool_call","toolCallId":"c1"}]}}}})"),
        R"({"type":"tool-a","toolCallId":"c1","state":"approval-requested","input":{},)"
        R"("approval":{"id":"i"}})"
    );
}

TEST(UiMessages, AQuestionIsData) {
    const json::array parts = ui_parts_of(
        R"([{"id":"m1","role":"assistant","content":"","metadata":{"custom":{"agui":{"interrupts":[)"
        R"({"id":"i","reason":"input_required"}]}}}}])"
    );
    EXPECT_EQ(
        json::serialize(parts.back()),
        R"({"type":"data-interrupt","id":"i","data":{"id":"i","reason":"input_required"}})"
    );
}

TEST(UiMessages, FilesAreUrls) {
    const json::array parts = ui_parts_of(R"([{"id":"u","role":"user","content":[
        {"type":"text","text":"Look:"},
        {"type":"image","source":{"type":"data","value":"QUJD","mimeType":"image/png"}},
        {"type":"document","source":{"type":"url","value":"https://x.example/a.pdf"},
            "metadata":{"filename":"a.pdf"}},
        {"type":"image","source":{"type":"file","value":"handle"}}]}])");
    EXPECT_EQ(
        json::serialize(parts),
        R"([{"type":"text","text":"Look:","state":"done"},)"
        R"({"type":"file","url":"data:image/png;base64,QUJD","mediaType":"image/png"},)"
        R"({"type":"file","url":"https://x.example/a.pdf","mediaType":"document","filename":"a.pdf"}])"
    );
}

TEST(UiMessages, ActivitiesAreDataAndTheirMediaFiles) {
    const json::array parts = ui_parts_of(
        R"([{"id":"u","role":"user","content":"x"},{"id":"p","role":"activity",)"
        R"("activityType":"generated-media","content":{"url":"https://g/p","mimeType":"image/png"}}])"
    );
    EXPECT_EQ(
        json::serialize(parts),
        R"([{"type":"data-activity","id":"p","data":{"activityType":"generated-media",)"
        R"("content":{"url":"https://g/p","mimeType":"image/png"}}},)"
        R"({"type":"file","url":"https://g/p","mediaType":"image/png"}])"
    );
}

TEST(UiMessages, OfASubagentOnlyTheCallsAreShown) {
    const json::array parts = ui_parts_of(
        R"([{"id":"u","role":"user","content":"x"},)"
        R"({"id":"m0","role":"user","content":"hidden","subagentRunId":"s"},)"
        R"({"id":"m1","role":"assistant","content":"hidden","subagentRunId":"s","toolCalls":[)"
        R"({"id":"c1","function":{"name":"a","arguments":"[1"}}]},)"
        R"({"id":"m2","role":"assistant","content":"hidden","subagentRunId":"s"},)"
        R"({"id":"t","role":"tool","toolCallId":"unknown","content":"x"}])"
    );
    EXPECT_EQ(
        json::serialize(parts),
        R"([{"type":"step-start"},{"type":"tool-a","toolCallId":"c1","state":"input-available",)"
        R"("input":"[1"}])"
    );
}

TEST(UiMessages, AnAnswerWithoutAUserMessageHasItsOwnId) {
    EXPECT_EQ(
        ui_shown(R"([{"id":"m1","role":"assistant","content":"Hello."}])"),
        R"([{"id":"m1","role":"assistant","parts":[{"type":"step-start"},)"
        R"({"type":"text","text":"Hello.","state":"done"}]}])"
    );
    EXPECT_EQ(ui_shown("[]"), "[]");
}

TEST(UiValues, AResultIsTheValueOfItsJson) {
    const auto output = [](std::string_view text) {
        return json::serialize(ui_output(text));
    };
    EXPECT_EQ(output(R"({"a":[1]})"), R"({"a":[1]})");
    EXPECT_EQ(output("false"), "false");
    EXPECT_EQ(output("null"), "null");
    EXPECT_EQ(output("12.5"), "1.25E1") << "a number";
    EXPECT_EQ(output("sunny"), R"("sunny")");
    EXPECT_EQ(output(R"("quoted")"), R"("\"quoted\"")");
    EXPECT_EQ(output("007"), R"("007")");
    EXPECT_EQ(output("1234567890123456"), R"("1234567890123456")") << "it could be an id";
    EXPECT_EQ(output(""), R"("")");
    EXPECT_EQ(output(std::string(100, '[')), '"' + std::string(100, '[') + '"');
    EXPECT_EQ(json::serialize(ui_output(json::value(json::array{1}))), "[1]");
}

TEST(UiValues, AnErrorIsItsReason) {
    EXPECT_EQ(ui_error(json::value(R"({"error":"broken"})")), "broken");
    EXPECT_EQ(
        ui_error(json::value(R"({"error":"broken","code":1})")), R"({"error":"broken","code":1})"
    );
    EXPECT_EQ(ui_error(json::value("broken")), "broken");
    EXPECT_EQ(ui_error(json::value(json::array{1})), "[1]");
}

} // namespace
} // namespace agui::translator
