#include "runner/mcp/mcp_call_result.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {
namespace {

namespace json = boost::json;

/// Returns "result: …" or "error: …".
std::string say(const tool_outcome& outcome) {
    return (outcome.what == tool_outcome::kind::error ? "error: " : "result: ") +
           std::get<std::string>(outcome.content);
}

std::string read(std::string_view text) {
    return say(read_mcp_call_result(boost::json::parse(text).as_object()));
}

TEST(McpCallResult, JoinsTexts) {
    EXPECT_EQ(
        read(R"({"content":[{"type":"text","text":"a"},{"type":"text","text":""},)"
             R"({"type":"text","text":"b"}]})"),
        "result: a\nb"
    );
    EXPECT_EQ(read(R"({"content":[]})"), "result: ");
}

TEST(McpCallResult, NotesContentThatAMessageCannotCarry) {
    EXPECT_EQ(
        read(R"({"content":[{"type":"text","text":"see"},)"
             R"({"type":"image","data":"AAAA","mimeType":"audio/wav"},)"
             R"({"type":"image","data":"%%%%","mimeType":"image/png"},)"
             R"({"type":"audio","data":"","mimeType":"audio/wav"},)"
             R"({"type":"resource_link","uri":"file:///a","name":"a"},)"
             R"({"type":"resource","resource":{"uri":"file:///b","text":"inside"}},)"
             R"({"type":"resource","resource":{"uri":"file:///c","blob":"AAAA"}},)"
             R"({"type":"resource","resource":)"
             R"({"uri":"ui://d","blob":"AAAA","mimeType":"image/png"}},)"
             R"({"type":"hologram"}]})"),
        "result: see\n[image audio/wav: not shown]\n[image image/png: not shown]\n"
        "[audio audio/wav: not shown]\n"
        "[resource file:///a, name: a]\ninside\n[resource file:///c: not shown]\n"
        "[resource ui://d: shown to the user]\n"
        "[content of an unknown type: not shown]"
    );
}

TEST(McpCallResult, HasMediaAsContentParts) {
    const tool_outcome outcome = read_mcp_call_result(
        boost::json::parse(R"({"content":[{"type":"text","text":"see"},)"
                           R"({"type":"image","data":"AAAA","mimeType":"image/jpg"},)"
                           R"({"type":"audio","data":"AAAA","mimeType":"audio/wav"},)"
                           R"({"type":"text","text":"that"},)"
                           R"({"type":"resource","resource":)"
                           R"({"uri":"file:///c","blob":"AAAA","mimeType":"application/pdf"}}]})")
            .as_object()
    );

    ASSERT_TRUE(std::holds_alternative<boost::json::array>(outcome.content));
    EXPECT_EQ(
        boost::json::serialize(std::get<boost::json::array>(outcome.content)),
        R"([{"type":"text","text":"see\n[image image/jpeg]"},)"
        R"({"type":"image","source":{"type":"data","value":"AAAA","mimeType":"image/jpeg"}},)"
        R"({"type":"text","text":"[audio audio/wav]"},)"
        R"({"type":"audio","source":{"type":"data","value":"AAAA","mimeType":"audio/wav"}},)"
        R"({"type":"text","text":"that\n[document application/pdf]"},)"
        R"({"type":"document","source":)"
        R"({"type":"data","value":"AAAA","mimeType":"application/pdf"}}])"
    );
}

TEST(McpCallResult, HasNoMediaInAnError) {
    EXPECT_EQ(
        read(R"({"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}],)"
             R"("isError":true})"),
        "error: [image image/png]"
    );
}

TEST(McpCallResult, IsTheStructuredContentWithoutText) {
    EXPECT_EQ(read(R"({"content":[],"structuredContent":{"a":1}})"), "result: {\"a\":1}");
    EXPECT_EQ(read(R"({"structuredContent":{"a":1}})"), "result: {\"a\":1}");
    EXPECT_EQ(
        read(R"({"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}})"), "result: t"
    );
}

TEST(McpCallResult, IsAnErrorIfTheServerSaysSo) {
    const tool_outcome outcome = read_mcp_call_result(
        boost::json::parse(R"({"content":[{"type":"text","text":"no file"}],"isError":true})")
            .as_object()
    );
    EXPECT_EQ(say(outcome), "error: no file");
    EXPECT_EQ(outcome.log_detail, "the tool reported a failure"); // The log gets no content.
    EXPECT_EQ(read(R"({"content":[],"isError":true})"), "error: The tool failed.");
    EXPECT_EQ(read(R"({"content":[],"isError":false})"), "result: ");
}

TEST(McpCallResult, DescribesALinkToTheModel) {
    EXPECT_EQ(
        read(R"({"content":[{"type":"text","text":"see:"},{"type":"resource_link",)"
             R"("uri":"probe://linked","name":"linked","title":"Linked","description":"A page.",)"
             R"("mimeType":"text/plain","size":3,"annotations":null,"_meta":null}]})"),
        "result: see:\n[resource probe://linked, name: linked, title: Linked, description: A "
        "page., "
        "type: text/plain]"
    );
    EXPECT_EQ(
        read(R"({"content":[{"type":"resource_link","uri":"probe://a","name":null,)"
             R"("description":null,"mimeType":null}]})"),
        "result: [resource probe://a]"
    );
    EXPECT_EQ(
        read(R"({"content":[{"type":"resource_link","uri":"probe://\na","name":"\u202ea\u001b",)"
             R"("title":"\u0007","description":"one\u2066 two","mimeType":"text\n/plain"}]})"),
        "result: [resource probe://a, name: a, description: one two, type: text/plain]"
    );
    EXPECT_EQ(
        read(R"({"content":[{"type":"resource","resource":{"uri":"probe://\n","blob":""}}]})"),
        "result: [resource probe://: not shown]"
    );
}

TEST(McpCallResult, TakesNullForAbsent) {
    EXPECT_EQ(
        read(R"({"content":[{"type":"text","text":"fine","annotations":null,"_meta":null}],)"
             R"("structuredContent":null,"isError":null,"_meta":null})"),
        "result: fine"
    );
    EXPECT_EQ(read(R"({"content":null})"), "result: ");
    EXPECT_EQ(read("{}"), "result: ");
    EXPECT_EQ(read(R"({"content":null,"structuredContent":{"a":null}})"), "result: {\"a\":null}");
    EXPECT_EQ(read(R"({"content":[null,{"type":"text","text":null}]})"), "result: ");
    EXPECT_EQ(
        read(R"({"content":[{"type":"resource","resource":)"
             R"({"uri":"a:b","mimeType":null,"text":null,"blob":"AAAA"}}]})"),
        "result: [resource a:b: not shown]"
    );
    EXPECT_EQ(
        read(R"({"content":[{"type":"resource","resource":{"uri":"a:b","text":"t","blob":null}}]})"
        ),
        "result: t"
    );
    EXPECT_EQ(
        read(R"({"content":[{"type":"image","data":"AAAA","mimeType":null}]})"),
        "result: [image: not shown]"
    );
}

TEST(McpCallResult, ShowsContentThatMcpDoesNotAllow) {
    EXPECT_EQ(read(R"({"content":"a"})"), "result: a");
    EXPECT_EQ(read(R"({"content":["a","b"]})"), "result: a\nb");
    EXPECT_EQ(read(R"({"content":{"type":"text","text":"a"}})"), "result: a");
    EXPECT_EQ(read(R"({"content":[{"text":"a"}]})"), "result: a");
    EXPECT_EQ(read(R"({"content":[{"type":"text","text":{"a":1}}]})"), "result: {\"a\":1}");
    EXPECT_EQ(read(R"({"content":[{}]})"), "result: [content of an unknown type: not shown]");
    EXPECT_EQ(read(R"({"content":[{"type":"resource"}]})"), "result: [resource: not shown]");
    EXPECT_EQ(read(R"({"content":[],"isError":"true"})"), "result: ");
    EXPECT_EQ(read(R"({"structuredContent":[1]})"), "result: [1]");
}

TEST(McpCallResult, AFailureTellsTheModelNoDetails) {
    const tool_outcome outcome =
        mcp_call_failure({.what = mcp_failure::kind::unavailable, .detail = "Connection refused"});
    EXPECT_EQ(say(outcome), "error: The tool could not be reached.");
    EXPECT_EQ(outcome.log_detail, "unavailable: Connection refused");
}

TEST(McpCallResult, AnErrorOfTheServerIsPassedOn) {
    const tool_outcome outcome = mcp_call_failure(
        {.what = mcp_failure::kind::error,
         .detail = "JSON-RPC error -32602",
         .upstream = "Unknown tool: x"}
    );
    EXPECT_EQ(say(outcome), "error: Unknown tool: x");
    EXPECT_EQ(outcome.log_detail, "error: JSON-RPC error -32602");
}

json::object app_of(std::string_view text, std::string resource_uri) {
    const json::object result = json::parse(text).as_object();
    tool_outcome outcome = read_mcp_call_result(result);
    add_mcp_app(outcome, result, {"files", std::move(resource_uri), {{"a", 1}}});
    if (!outcome.effects || outcome.effects->activities.empty()) {
        return {};
    }
    EXPECT_EQ(outcome.effects->activities.front().type, "mcp-apps");
    return outcome.effects->activities.front().content;
}

TEST(McpCallResult, OfAToolWithAnAppIsAnActivity) {
    const json::object app = app_of(
        R"({"content":[{"type":"text","text":"t"}],"_meta":{"x":1,"org.agui-gateway/effects":{"state":1}}})",
        "ui://page"
    );
    EXPECT_EQ(app.at("resourceUri"), "ui://page");
    EXPECT_EQ(app.at("serverId"), "files");
    EXPECT_EQ(app.at("toolInput"), json::parse(R"({"a":1})"));
    EXPECT_EQ(
        app.at("result"), json::parse(R"({"content":[{"type":"text","text":"t"}],"_meta":{"x":1}})")
    );
}

TEST(McpCallResult, MayAskAPersonForInput) {
    const json::object asks = json::parse(R"({"content":[],"_meta":{"org.agui-gateway/input":{
        "message":"Which?","responseSchema":{"type":"string"}}}})")
                                  .as_object();
    tool_outcome outcome = read_mcp_call_result(asks);
    add_mcp_app(outcome, asks, {"files", "ui://page", {{"a", 1}}});

    EXPECT_EQ(outcome.what, tool_outcome::kind::input);
    ASSERT_NE(outcome.question, nullptr);
    EXPECT_EQ(outcome.question->message, "Which?");
    EXPECT_EQ(outcome.effects, nullptr) << "an app shows results only";
}

TEST(McpCallResult, WithAnEmbeddedPageIsAnActivityAndNoTextForTheModel) {
    constexpr std::string_view result =
        R"({"content":[{"type":"resource","resource":{"uri":"ui://p","text":"<html>"}}]})";
    EXPECT_EQ(app_of(result, "").at("resourceUri"), "ui://p");
    EXPECT_EQ(read(result), "result: [resource ui://p: shown to the user]");
    EXPECT_TRUE(app_of(R"({"content":[{"type":"text","text":"ui://p"}]})", "").empty());
}

} // namespace
} // namespace agui::runner
