#include "runner/mcp/mcp_call_result.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>

namespace agui::runner {
namespace {

/// "result: …" or "error: …".
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

TEST(McpCallResult, NotesWhatAMessageCannotCarry) {
    EXPECT_EQ(
        read(R"({"content":[{"type":"text","text":"see"},)"
             R"({"type":"image","data":"AAAA","mimeType":"image/png"},)"
             R"({"type":"audio","data":"AAAA","mimeType":"audio/wav"},)"
             R"({"type":"resource_link","uri":"file:///a","name":"a"},)"
             R"({"type":"resource","resource":{"uri":"file:///b","text":"inside"}},)"
             R"({"type":"resource","resource":{"uri":"file:///c","blob":"AAAA"}},)"
             R"({"type":"hologram"}]})"),
        "result: see\n[image image/png: not shown]\n[audio audio/wav: not shown]\n"
        "[resource file:///a]\ninside\n[resource file:///c: not shown]\n"
        "[content of an unknown type: not shown]"
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
    EXPECT_EQ(outcome.log_detail, "the tool says that it failed"); // Without content.
    EXPECT_EQ(read(R"({"content":[],"isError":true})"), "error: The tool failed.");
    EXPECT_EQ(read(R"({"content":[],"isError":false})"), "result: ");
}

TEST(McpCallResult, RefusesWhatMcpDoesNotAllow) {
    for (const std::string text :
         {"{}", R"({"content":"a"})", R"({"content":null})", R"({"content":["a"]})",
          R"({"content":[{}]})", R"({"content":[{"type":"text"}]})",
          R"({"content":[{"type":"text","text":1}]})", R"({"content":[{"type":"resource"}]})",
          R"({"content":[],"isError":"true"})", R"({"structuredContent":[]})"}) {
        EXPECT_EQ(read(text), "error: The tool's answer could not be read.") << text;
    }
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

} // namespace
} // namespace agui::runner
