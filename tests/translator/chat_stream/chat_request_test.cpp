#include "translator/chat_stream/chat_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace agui::translator {
namespace {

using ::testing::HasSubstr;

chat_request read(const std::string& body, const input_limits& limits = {}) {
    auto request = read_chat_request(body, limits);
    EXPECT_TRUE(request) << (request ? "" : request.error().detail);
    return request ? std::move(*request) : chat_request();
}

failure refused(const std::string& body, const input_limits& limits = {}) {
    const auto request = read_chat_request(body, limits);
    EXPECT_FALSE(request) << body;
    return request ? failure() : request.error();
}

TEST(ChatRequest, NeedsNothingButAMessage) {
    const chat_request request = read(R"({"message":"Hi"})");

    EXPECT_EQ(request.input.thread_id, "");
    EXPECT_EQ(request.input.run_id, "");
    EXPECT_EQ(request.mode, chat_mode::incremental);
    EXPECT_EQ(request.workspace_root, "");
    EXPECT_EQ(request.input.projection, projection::v1_1);
    EXPECT_FALSE(request.input.tools);
    ASSERT_EQ(request.input.messages.size(), 1U);
    EXPECT_EQ(request.input.messages[0].role, session::role::user);
    EXPECT_EQ(request.input.messages[0].content, session::content(std::string("Hi")));
}

TEST(ChatRequest, TakesAllThatTheSeedNames) {
    input_limits limits;
    limits.prompt_props = {"workspaceRoot"};
    const chat_request request = read(
        R"({"sessionId":"s","messageId":"m","message":"Hi","workspaceRoot":"/home/ann",)"
        R"("model":"fast","responseMode":"full","other":{"deep":[1]}})",
        limits
    );

    EXPECT_EQ(request.input.thread_id, "s");
    EXPECT_EQ(request.input.run_id, "m");
    EXPECT_EQ(request.mode, chat_mode::full);
    EXPECT_EQ(request.workspace_root, "/home/ann");
    EXPECT_EQ(request.input.forwarded.model, "fast");
    EXPECT_TRUE(request.input.forwarded.prompt_values.contains("workspaceRoot"));
    EXPECT_EQ(request.input.unknown_members, std::vector<std::string>{"other"});
}

TEST(ChatRequest, TheWorkspaceRootIsForPromptsThatListIt) {
    const chat_request request = read(R"({"message":"Hi","workspaceRoot":"/home/ann"})");

    EXPECT_TRUE(request.input.forwarded.prompt_values.empty());
}

TEST(ChatRequest, NullAndEmptyIdsCountAsAbsent) {
    const chat_request request =
        read(R"({"sessionId":null,"messageId":"","message":"Hi","toolResults":null,"tools":null,)"
             R"("workspaceRoot":"","model":null,"responseMode":null})");

    EXPECT_EQ(request.input.thread_id, "");
    EXPECT_EQ(request.input.run_id, "");
    EXPECT_EQ(request.input.messages.size(), 1U);
}

TEST(ChatRequest, ResultsOfToolsComeBeforeTheMessage) {
    const chat_request request = read(
        R"({"sessionId":"s","message":"and now?","toolResults":[{"toolCallId":"c","content":"1"},)"
        R"({"tool_call_id":"d","error":"no"}]})"
    );

    ASSERT_EQ(request.input.messages.size(), 3U);
    EXPECT_EQ(tool_results_of(request.input), 2U);
    EXPECT_EQ(request.input.messages[0].tool_call_id, "c");
    EXPECT_EQ(request.input.messages[0].error, std::nullopt);
    EXPECT_EQ(request.input.messages[1].tool_call_id, "d");
    EXPECT_EQ(request.input.messages[1].error, "no");
    EXPECT_EQ(request.input.messages[2].role, session::role::user);
    EXPECT_EQ(
        read(R"({"sessionId":"s","toolResults":[{"toolCallId":"c","content":""}]})")
            .input.messages.size(),
        1U
    );
}

TEST(ChatRequest, NoResultsAreLikeAbsentOnes) {
    const chat_request request = read(R"({"message":"Hi","toolResults":[]})");
    ASSERT_EQ(request.input.messages.size(), 1U);
    EXPECT_EQ(request.input.messages[0].role, session::role::user);
    EXPECT_EQ(refused(R"({"sessionId":"s","toolResults":[]})").path, "message");
}

TEST(ChatRequest, AResultWithoutContentIsEmpty) {
    for (const std::string content : {"", R"(,"content":null)", R"(,"content":"")"}) {
        const chat_request request =
            read(R"({"sessionId":"s","toolResults":[{"toolCallId":"c")" + content + "}]}");
        ASSERT_EQ(request.input.messages.size(), 1U);
        EXPECT_EQ(request.input.messages[0].content, session::content(std::string()));
    }
}

TEST(ChatRequest, ContentMayBeParts) {
    const std::string parts = R"([{"type":"text","text":"a"},{"type":"image","source":)"
                              R"({"type":"data","value":"AAAA","mimeType":"image/png"}}])";
    const chat_request request = read(
        R"({"sessionId":"s","message":)" + parts +
        R"(,"toolResults":[{"toolCallId":"c","content":)" + parts + "}]}"
    );
    ASSERT_EQ(request.input.messages.size(), 2U);
    for (const session::message& each : request.input.messages) {
        const auto* read_parts = std::get_if<boost::json::array>(&each.content);
        ASSERT_NE(read_parts, nullptr);
        EXPECT_EQ(read_parts->size(), 2U);
    }
    EXPECT_EQ(refused(R"({"message":[{"type":"text"}]})").path, "message[0].text");
    EXPECT_EQ(refused(R"({"message":{"a":1}})").path, "message");
    EXPECT_EQ(
        refused(R"({"sessionId":"s","toolResults":[{"toolCallId":"c","content":[1]}]})").path,
        "toolResults[0].content[0]"
    );
    input_limits limits;
    limits.max_parts_per_message = 1;
    EXPECT_EQ(refused(R"({"message":)" + parts + "}", limits).path, "message");
}

TEST(ChatRequest, ARepeatMayHaveOtherIdsAndAnotherMode) {
    const auto canonical = [](const std::string& members) {
        return read(R"({"message":"Hi")" + members + "}").input.canonical;
    };

    EXPECT_EQ(
        canonical(R"(,"messageId":"m","responseMode":"full")"),
        canonical(R"(,"session_id":"s","response_mode":"incremental")")
    );
    EXPECT_NE(canonical(""), canonical(R"(,"model":"x")"));
}

TEST(ChatRequest, NamesTheInvalidMember) {
    const std::string long_id(600, 'x');
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"[]", ""},
        {"{}", "message"},
        {R"({"message":""})", "message"},
        {R"({"message":[]})", "message"},
        {R"({"message":"x","sessionId":1})", "sessionId"},
        {R"({"message":"x","sessionId":"a\n"})", "sessionId"},
        {R"({"message":"x","message_id":")" + long_id + R"("})", "message_id"},
        {R"({"message":"x","responseMode":"Full"})", "responseMode"},
        {R"({"message":"x","responseMode":1})", "responseMode"},
        {R"({"message":"x","model":1})", "model"},
        {R"({"message":"x","workspaceRoot":"a\u0000"})", "workspaceRoot"},
        {R"({"message":"x","workspaceRoot":")" + std::string(4097, 'a') + R"("})", "workspaceRoot"},
        {R"({"message":"x","tools":{}})", "tools"},
        {R"({"toolResults":[{"toolCallId":"c","content":""}]})", "sessionId"},
        {R"({"sessionId":"s","toolResults":{}})", "toolResults"},
        {R"({"sessionId":"s","toolResults":[1]})", "toolResults[0]"},
        {R"({"sessionId":"s","toolResults":[{"content":""}]})", "toolResults[0].toolCallId"},
        {R"({"sessionId":"s","toolResults":[{"toolCallId":"","content":""}]})",
         "toolResults[0].toolCallId"},
        {R"({"sessionId":"s","toolResults":[{"toolCallId":"a\n","content":""}]})",
         "toolResults[0].toolCallId"},
        {R"({"sessionId":"s","toolResults":[{"toolCallId":"c","content":{}}]})",
         "toolResults[0].content"},
        {R"({"sessionId":"s","toolResults":[{"toolCallId":"c","content":"","error":1}]})",
         "toolResults[0].error"},
        {R"({"sessionId":"s","toolResults":[{"toolCallId":"c","content":""}],"message":1})",
         "message"},
    };
    for (const auto& [body, path] : cases) {
        SCOPED_TRACE(body);
        const failure error = refused(body);
        EXPECT_EQ(error.code, errc::invalid_input);
        EXPECT_EQ(error.path, path);
    }
    EXPECT_EQ(refused("{").code, errc::invalid_json);
    EXPECT_EQ(
        read(R"({"message":"x","workspaceRoot":")" + std::string(4096, 'a') + R"("})")
            .workspace_root.size(),
        4096U
    );
}

TEST(ChatRequest, LimitsTheNumberOfResults) {
    input_limits limits;
    limits.max_messages = 3;
    const std::string one = R"({"toolCallId":"c","content":""})";
    const std::string begin = R"({"sessionId":"s","message":"x","toolResults":[)";

    EXPECT_EQ(read(begin + one + "," + one + "]}", limits).input.messages.size(), 3U);
    EXPECT_EQ(refused(begin + one + "," + one + "," + one + "]}", limits).path, "toolResults");
}

TEST(ChatRequest, PathsOfTheRunBecomePathsOfTheRequest) {
    EXPECT_EQ(chat_path("messages[0].toolCallId", 2), "toolResults[0].toolCallId");
    EXPECT_EQ(chat_path("messages[1]", 2), "toolResults[1]");
    EXPECT_EQ(chat_path("messages[2].content", 2), "message");
    EXPECT_EQ(chat_path("messages", 1), "toolResults");
    EXPECT_EQ(chat_path("messages", 0), "message");
    EXPECT_EQ(chat_path("threadId", 0), "sessionId");
    EXPECT_EQ(chat_path("runId", 0), "messageId");
    EXPECT_EQ(chat_path("tools[0].name", 0), "tools[0].name");
    EXPECT_EQ(chat_path("", 0), "");
}

TEST(ChatRequest, ReadsTheNameOfAMode) {
    EXPECT_EQ(*read_chat_mode(std::nullopt), chat_mode::incremental);
    EXPECT_EQ(*read_chat_mode("incremental"), chat_mode::incremental);
    EXPECT_EQ(*read_chat_mode("full"), chat_mode::full);
    EXPECT_EQ(read_chat_mode("").error().path, "responseMode");
}

} // namespace
} // namespace agui::translator
