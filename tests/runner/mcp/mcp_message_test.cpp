#include "runner/mcp/mcp_message.hpp"

#include "runner/mcp/mcp_limits.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>

namespace agui::runner {
namespace {

using kind = mcp_message::kind;

mcp_message only(std::string_view text) {
    mcp_messages read = read_mcp_messages(text);
    EXPECT_EQ(read.ignored, 0U) << text;
    EXPECT_EQ(read.messages.size(), 1U) << text;
    return read.messages.empty() ? mcp_message{} : std::move(read.messages.front());
}

TEST(McpMessage, ReadsARequest) {
    const mcp_message read =
        only(R"({"jsonrpc":"2.0","id":"a","method":"roots/list","params":{"x":1}})");
    EXPECT_EQ(read.what, kind::request);
    EXPECT_EQ(read.id, boost::json::value("a"));
    EXPECT_EQ(read.method, "roots/list");
    EXPECT_EQ(read.body.at("x"), 1);
}

TEST(McpMessage, ReadsANotification) {
    const mcp_message read = only(R"({"jsonrpc":"2.0","method":"notifications/progress"})");
    EXPECT_EQ(read.what, kind::notification);
    EXPECT_EQ(read.method, "notifications/progress");
    EXPECT_TRUE(read.body.empty());
}

TEST(McpMessage, ReadsAnswers) {
    const mcp_message result = only(R"({"jsonrpc":"2.0","id":7,"result":{"a":true}})");
    EXPECT_EQ(result.what, kind::result);
    EXPECT_EQ(result.answered, 7);
    EXPECT_EQ(result.body.at("a"), true);

    const mcp_message error =
        only(R"({"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":[1]}})");
    EXPECT_EQ(error.what, kind::error);
    EXPECT_EQ(error.answered, 7);
    EXPECT_EQ(error.code, -32602);
    EXPECT_EQ(error.text, "no");
}

TEST(McpMessage, AnAnswerWithAnotherIdAnswersNothing) {
    EXPECT_EQ(only(R"({"jsonrpc":"2.0","id":"7","result":{}})").answered, std::nullopt);
}

TEST(McpMessage, AnAnswerThatIsNeitherIsMalformed) {
    for (const std::string text :
         {R"({"jsonrpc":"2.0","id":7})", R"({"jsonrpc":"2.0","id":7,"result":null})",
          R"({"jsonrpc":"2.0","id":7,"result":[]})", R"({"jsonrpc":"2.0","id":7,"error":"no"})",
          R"({"jsonrpc":"2.0","id":7,"error":{"code":"1","message":"no"}})",
          R"({"jsonrpc":"2.0","id":7,"error":{"code":1}})",
          R"({"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":""}})"}) {
        SCOPED_TRACE(text);
        const mcp_message read = only(text);
        EXPECT_EQ(read.what, kind::malformed);
        EXPECT_EQ(read.answered, 7);
    }
}

TEST(McpMessage, IgnoresWhatIsNoMessage) {
    for (const std::string text :
         {"", "listening on port 1", "null", "[]", "1", "{}", "{\"jsonrpc\":\"2.0\"}",
          R"({"jsonrpc":"1.0","id":1,"result":{}})", R"({"id":1,"result":{}})",
          R"({"jsonrpc":"2.0","id":null,"result":{}})", R"({"jsonrpc":"2.0","id":1.5,"result":{}})",
          R"({"jsonrpc":"2.0","method":1})", R"({"jsonrpc":"2.0","method":"a","params":[1]})",
          R"({"jsonrpc":"2.0","method":"a","id":{}})",
          R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}})",
          R"({"jsonrpc":"2.0","id":1,"result":{"a":1e400}})",
          "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xFF\"}}"}) {
        SCOPED_TRACE(text);
        const mcp_messages read = read_mcp_messages(text);
        EXPECT_TRUE(read.messages.empty());
        EXPECT_EQ(read.ignored, 1U);
    }
}

TEST(McpMessage, BoundsTheDepth) {
    const auto nested = [](std::size_t depth) {
        return R"({"jsonrpc":"2.0","id":1,"result":{"a":)" + std::string(depth, '[') +
               std::string(depth, ']') + "}}";
    };
    EXPECT_EQ(read_mcp_messages(nested(mcp_message_depth_max - 4)).messages.size(), 1U);
    EXPECT_EQ(read_mcp_messages(nested(mcp_message_depth_max)).ignored, 1U);
    EXPECT_EQ(read_mcp_messages(nested(1'000'000)).ignored, 1U);
}

TEST(McpMessage, ReadsABatch) {
    const mcp_messages read = read_mcp_messages(
        R"([{"jsonrpc":"2.0","id":1,"result":{}},7,{"jsonrpc":"2.0","method":"a"}])"
    );
    EXPECT_EQ(read.messages.size(), 2U);
    EXPECT_EQ(read.ignored, 1U);

    std::string many = "[7";
    for (std::size_t i = 0; i < mcp_batch_max; ++i) {
        many += ",7";
    }
    EXPECT_EQ(read_mcp_messages(many + "]").ignored, 1U);
}

TEST(McpMessage, WritesWhatTheServerGets) {
    EXPECT_EQ(
        write_mcp_request(3, "tools/list", {{"cursor", "x"}}),
        R"({"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"x"}})"
    );
    EXPECT_EQ(
        write_mcp_notification("notifications/initialized", {}),
        R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
    );
    EXPECT_EQ(write_mcp_result("a", {}), R"({"jsonrpc":"2.0","id":"a","result":{}})");
    EXPECT_EQ(
        write_mcp_error(4, -32601, "Method not found"),
        R"({"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"Method not found"}})"
    );
}

} // namespace
} // namespace agui::runner
