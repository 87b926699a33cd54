#include "translator/ui_message/ui_request.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::translator {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

result<ui_request> ui_asked(std::string_view body) {
    return read_ui_request(body, "r1", 64, nullptr);
}

result<ui_request> with_messages(std::string_view messages, std::string_view more = {}) {
    return ui_asked(R"({"id":"t","messages":)" + std::string(messages) + std::string(more) + "}");
}

json::object ui_input_in(const result<ui_request>& request) {
    return request ? json::parse(request->body).as_object() : json::object{{"messages", nullptr}};
}

std::string messages_in(const result<ui_request>& request) {
    return json::serialize(ui_input_in(request).at("messages"));
}

constexpr std::string_view asked_message =
    R"({"id":"u1","role":"user","parts":[{"type":"text","text":"Hi"}]})";

TEST(UiRequest, AUserMessageBeginsARun) {
    const auto request =
        with_messages("[" + std::string(asked_message) + "]", R"(,"trigger":"submit-message")");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->thread_id, "t");
    EXPECT_EQ(request->start.message_id, "u1-answer");
    EXPECT_THAT(request->start.calls, IsEmpty());
    EXPECT_EQ(
        request->body, R"({"threadId":"t","protocolVersion":"1.1","messages":[)"
                       R"({"role":"user","id":"u1","content":"Hi"}],"runId":"r1"})"
    );
}

TEST(UiRequest, OneMessageMayStandAlone) {
    const auto request = ui_asked(R"({"id":"t","message":)" + std::string(asked_message) + "}");
    EXPECT_EQ(messages_in(request), R"([{"role":"user","id":"u1","content":"Hi"}])");
}

TEST(UiRequest, MembersOfTheInputArePassedOn) {
    const auto input = ui_input_in(with_messages(
        "[" + std::string(asked_message) + "]",
        R"(,"tools":[{"name":"a"}],"context":[],"state":{"n":1},"forwardedProps":{"model":"m"},)"
        R"("resume":[{"interruptId":"i"}],"apiKey":"secret","other":1)"
    ));
    EXPECT_EQ(json::serialize(input.at("tools")), R"([{"name":"a"}])");
    EXPECT_EQ(json::serialize(input.at("state")), R"({"n":1})");
    EXPECT_EQ(json::serialize(input.at("forwardedProps")), R"({"model":"m"})");
    EXPECT_EQ(json::serialize(input.at("resume")), R"([{"interruptId":"i"}])");
    EXPECT_FALSE(input.contains("apiKey"));
    EXPECT_FALSE(input.contains("other"));
}

TEST(UiRequest, FilesAreParts) {
    EXPECT_EQ(
        messages_in(with_messages(R"([{"id":"u","role":"user","parts":[
            {"type":"file","mediaType":"image","url":"data:image/png;base64,QUJD","filename":"a.png"},
            {"type":"file","mediaType":"application/pdf","url":"https://x.example/a.pdf"},
            {"type":"text","text":"Look."},{"type":"data-note","data":1}]}])")),
        R"([{"role":"user","id":"u","content":[{"type":"image","source":{"type":"data",)"
        R"("value":"QUJD","mimeType":"image/png"},"metadata":{"filename":"a.png"}},)"
        R"({"type":"document","source":{"type":"url","value":"https://x.example/a.pdf",)"
        R"("mimeType":"application/pdf"}},{"type":"text","text":"Look."}]}])"
    );
}

constexpr std::string_view answered_message = R"({"id":"a1","role":"assistant","parts":[
    {"type":"step-start"},{"type":"reasoning","text":"Hm."},{"type":"text","text":"I look."},
    {"type":"tool-server","toolCallId":"c0","state":"output-available","input":{},"output":1,
        "providerExecuted":true},
    {"type":"tool-page","toolCallId":"c1","state":"output-available","input":{"a":1},"output":{"b":2}},
    {"type":"dynamic-tool","toolName":"other","toolCallId":"c2","state":"output-error",
        "rawInput":"{no","errorText":"broken"},
    {"type":"tool-page","toolCallId":"c3","state":"input-available","input":{}},
    {"type":"tool-page","toolCallId":"c4","state":"input-streaming"},
    {"type":"tool-page","toolCallId":"c5","state":"output-available","input":{},"output":"x",
        "preliminary":true},
    {"type":"tool-page","toolCallId":"c6","state":"output-denied","input":{}},
    {"type":"tool-page","toolCallId":"c7","state":"output-available","input":{}},
    {"type":"step-start"},{"type":"text","text":"More."},{"type":"data-state","data":{}}]})";

TEST(UiRequest, ResultsOfThePagesCallsAreAnswers) {
    const auto request = with_messages(
        "[" + std::string(asked_message) + "," + std::string(answered_message) + "]",
        R"(,"messageId":"a1")"
    );
    ASSERT_TRUE(request);
    EXPECT_EQ(request->start.message_id, "a1");
    EXPECT_THAT(request->start.calls, ElementsAre("c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"));
    EXPECT_EQ(
        messages_in(request),
        R"([{"role":"user","id":"u1","content":"Hi"},)"
        R"({"role":"assistant","id":"a1","content":"I look.","toolCalls":[)"
        R"({"id":"c1","type":"function","function":{"name":"page","arguments":"{\"a\":1}"}},)"
        R"({"id":"c2","type":"function","function":{"name":"other","arguments":"{no"}},)"
        R"({"id":"c3","type":"function","function":{"name":"page","arguments":"{}"}},)"
        R"({"id":"c5","type":"function","function":{"name":"page","arguments":"{}"}},)"
        R"({"id":"c7","type":"function","function":{"name":"page","arguments":"{}"}}]},)"
        R"({"role":"tool","toolCallId":"c1","content":"{\"b\":2}"},)"
        R"({"role":"tool","toolCallId":"c2","content":"broken","error":"broken"},)"
        R"({"role":"tool","toolCallId":"c7","content":""},)"
        R"({"role":"assistant","content":"More."}])"
    );
}

std::string ui_approval(std::string_view id, std::string_view more) {
    return R"({"type":"tool-mail","toolCallId":"c-)" + std::string(id) +
           R"(","state":"approval-responded","input":{},"approval":{"id":")" + std::string(id) +
           R"(",)" + std::string(more) + "}}";
}

TEST(UiRequest, ApprovalsAreResumed) {
    const std::string answer = R"({"id":"a1","role":"assistant","parts":[)" +
                               ui_approval("i1", R"("approved":true)") + "," +
                               ui_approval("i2", R"("approved":false,"reason":"too dear")") + "]}";
    const auto request = with_messages(
        "[" + std::string(asked_message) + "," + answer + "]", R"(,"resume":[{"interruptId":"i0"}])"
    );
    ASSERT_TRUE(request);
    EXPECT_EQ(
        json::serialize(ui_input_in(request).at("resume")),
        R"([{"interruptId":"i0"},{"interruptId":"i1","status":"resolved","payload":{"approved":true}},)"
        R"({"interruptId":"i2","status":"resolved","payload":{"approved":false,"reason":"too dear"}}])"
    );
    EXPECT_THAT(request->start.denied_calls, ElementsAre("c-i2"));

    const auto later = with_messages("[" + answer + "," + std::string(asked_message) + "]");
    EXPECT_FALSE(ui_input_in(later).contains("resume")) << "the person went on without it";
    const auto named = with_messages(
        "[" + answer + "," + std::string(asked_message) + "]", R"(,"messageId":"a1")"
    );
    EXPECT_TRUE(ui_input_in(named).contains("resume"));
    EXPECT_EQ(named->start.message_id, "a1");
}

TEST(UiRequest, ARegeneratedAnswerIsCutOff) {
    const std::string all = "[" + std::string(asked_message) +
                            R"(,{"id":"a1","role":"assistant","parts":[]},)"
                            R"({"id":"u2","role":"user","parts":[]}])";
    const auto cut = [&](std::string_view message_id) {
        const auto request = with_messages(
            all, R"(,"trigger":"regenerate-message","messageId":")" + std::string(message_id) + '"'
        );
        return request ? request->start.message_id : request.error().detail;
    };
    EXPECT_EQ(cut("a1"), "u1-answer");
    EXPECT_EQ(cut("u1"), "u1-answer");
    EXPECT_EQ(cut("u2"), "u2-answer");
    EXPECT_EQ(cut("cut already"), "u2-answer");
}

TEST(UiRequest, AnEditedMessageKeepsItsId) {
    const auto request =
        with_messages("[" + std::string(asked_message) + "]", R"(,"messageId":"u1")");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->start.message_id, "u1-answer");
}

TEST(UiRequest, RefusesOtherRequests) {
    const auto path = [](std::string_view body) {
        const auto request = ui_asked(body);
        return request ? "accepted" : request.error().path;
    };
    EXPECT_EQ(ui_asked("{").error().code, errc::invalid_json);
    EXPECT_EQ(ui_asked("[]").error().code, errc::invalid_input);
    EXPECT_EQ(path(R"({"messages":[]})"), "id");
    EXPECT_EQ(path(R"({"id":1,"messages":[]})"), "id");
    EXPECT_EQ(path(R"({"id":"t"})"), "messages");
    EXPECT_EQ(path(R"({"id":"t","messages":{}})"), "messages");
    EXPECT_EQ(path(R"({"id":"t","messages":[]})"), "messages");
    EXPECT_EQ(path(R"({"id":"t","messages":[1]})"), "messages[0]");
    EXPECT_EQ(path(R"({"id":"t","messages":[],"trigger":"resume"})"), "trigger");
    EXPECT_EQ(path(R"({"id":"t","messages":[],"messageId":{}})"), "messageId");
    const auto in_message = [&](std::string_view message) {
        return path(R"({"id":"t","messages":[)" + std::string(message) + "]}");
    };
    EXPECT_EQ(in_message(R"({"role":"user"})"), "messages[0].parts");
    EXPECT_EQ(in_message(R"({"role":"tool","parts":[]})"), "messages[0].role");
    EXPECT_EQ(in_message(R"({"role":1,"parts":[]})"), "messages[0].role");
    EXPECT_EQ(in_message(R"({"id":1,"role":"user","parts":[]})"), "messages[0].id");
    EXPECT_EQ(in_message(R"({"role":"user","parts":[1]})"), "messages[0].parts[0]");
    EXPECT_EQ(in_message(R"({"role":"assistant","parts":[[]]})"), "messages[0].parts[0]");
    EXPECT_EQ(
        in_message(R"({"role":"user","parts":[{"type":"text","text":1}]})"),
        "messages[0].parts[0].text"
    );
    EXPECT_EQ(
        in_message(R"({"role":"user","parts":[{"type":"file"}]})"), "messages[0].parts[0].url"
    );
    EXPECT_EQ(
        in_message(R"({"role":"user","parts":[{"type":"file","url":"data:text/plain,x"}]})"),
        "messages[0].parts[0].url"
    );
    EXPECT_EQ(
        in_message(R"({"role":"user","parts":[{"type":"file","url":"u","mediaType":1}]})"),
        "messages[0].parts[0].mediaType"
    );
    EXPECT_EQ(
        in_message(R"({"role":"assistant","parts":[{"type":"tool-a"}]})"),
        "messages[0].parts[0].toolCallId"
    );
    EXPECT_EQ(
        in_message(R"({"role":"assistant","parts":[{"type":"tool-a","toolCallId":"c","state":1}]})"
        ),
        "messages[0].parts[0].state"
    );
}

TEST(UiRequest, DepthAndMemoryAreLimited) {
    const std::string deep =
        R"({"id":"t","messages":)" + std::string(70, '[') + std::string(70, ']') + "}";
    EXPECT_EQ(ui_asked(deep).error().code, errc::invalid_json);
    memory_budget budget(1000);
    const std::string large = R"({"id":"t","messages":[)" + std::string(asked_message) +
                              R"(],"x":")" + std::string(5000, 'x') + "\"}";
    EXPECT_EQ(read_ui_request(large, "r", 64, &budget).error().code, errc::overloaded);
    EXPECT_EQ(budget.used(), 0U);
}

TEST(UiRequest, FailuresOfTheInputNameTheRequestsMembers) {
    EXPECT_EQ(ui_path("threadId"), "id");
    EXPECT_EQ(ui_path("messages[3].content"), "messages");
    EXPECT_EQ(ui_path("tools[0].name"), "tools[0].name");
}

} // namespace
} // namespace agui::translator
