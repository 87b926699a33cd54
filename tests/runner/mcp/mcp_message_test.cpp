#include "runner/mcp/mcp_message.hpp"

#include "runner/mcp/mcp_limits.hpp"
#include "session/base/memory_budget.hpp"

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

TEST(McpMessage, ComparesIdsAsText) {
    const auto answered = [](std::string_view id) {
        return only(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{}})").answered;
    };
    EXPECT_EQ(answered("7"), 7);
    EXPECT_EQ(answered("\"7\""), 7);
    EXPECT_EQ(answered("7.0"), 7);
    for (const char* const other : {"\"07\"", "\"7 \"", "\"seven\"", "\"\"", "\"+7\""}) {
        EXPECT_EQ(answered(other), std::nullopt) << other;
    }
}

TEST(McpMessage, TakesNullForAbsent) {
    const mcp_message result =
        only(R"({"jsonrpc":"2.0","id":7,"method":null,"params":null,"result":{"a":1},"error":null})"
        );
    EXPECT_EQ(result.what, kind::result);
    EXPECT_EQ(result.body.at("a"), 1);

    const mcp_message error = only(
        R"({"jsonrpc":"2.0","id":7,"result":null,"error":{"code":1,"message":"no","data":null}})"
    );
    EXPECT_EQ(error.what, kind::error);
    EXPECT_EQ(error.text, "no");

    const mcp_message told = only(
        R"({"jsonrpc":"2.0","id":null,"method":"notifications/tools/list_changed","params":null})"
    );
    EXPECT_EQ(told.what, kind::notification);
    EXPECT_EQ(told.method, "notifications/tools/list_changed");
}

TEST(McpMessage, AnEmptyResultMayBeNullOrAnArray) {
    for (const std::string result : {"null", "[]", "{}"}) {
        const mcp_message read = only(R"({"jsonrpc":"2.0","id":7,"result":)" + result + "}");
        EXPECT_EQ(read.what, kind::result) << result;
        EXPECT_TRUE(read.body.empty());
    }
}

TEST(McpMessage, ReadsTheTextOfAnError) {
    const auto read = [](std::string_view error) {
        const mcp_message said =
            only(R"({"jsonrpc":"2.0","id":7,"error":)" + std::string(error) + "}");
        EXPECT_EQ(said.what, kind::error) << error;
        return std::to_string(said.code) + " " + said.text;
    };
    EXPECT_EQ(read("\"no\""), "0 no");
    EXPECT_EQ(read(R"({"code":"1","message":"no"})"), "0 no");
    EXPECT_EQ(read(R"({"code":1})"), "1 ");
    EXPECT_EQ(read("true"), "0 ");
}

TEST(McpMessage, AnAnswerThatIsNeitherIsMalformed) {
    for (const std::string text :
         {R"({"jsonrpc":"2.0","id":7})", R"({"jsonrpc":"2.0","id":7,"result":[1]})",
          R"({"jsonrpc":"2.0","id":7,"result":"no"})",
          R"({"jsonrpc":"2.0","id":7,"result":{"a":1e400}})"}) {
        SCOPED_TRACE(text);
        const mcp_message read = only(text);
        EXPECT_EQ(read.what, kind::malformed);
        EXPECT_EQ(read.answered, 7);
    }
}

TEST(McpMessage, BoundsTheMembersOfTheMessageButNotOfItsResult) {
    std::string members = R"("m":0)";
    for (int i = 0; i < 1024; ++i) {
        members += ",\"m" + std::to_string(i) + "\":0";
    }
    const mcp_message wide = only(R"({"jsonrpc":"2.0","id":7,"result":{},)" + members + "}");
    EXPECT_EQ(wide.what, kind::malformed);
    EXPECT_EQ(wide.answered, 7);
    const std::string begin = R"({"jsonrpc":"2.0","method":"ping",)";
    EXPECT_EQ(read_mcp_messages(begin + members + "}").ignored, 1U);
    const mcp_message error =
        only(R"({"jsonrpc":"2.0","id":7,"error":{"message":"x",)" + members + "}}");
    EXPECT_EQ(error.what, kind::error);
    EXPECT_EQ(error.text, "");
    const mcp_message result = only(R"({"jsonrpc":"2.0","id":7,"result":{)" + members + "}}");
    EXPECT_EQ(result.what, kind::result);
    EXPECT_EQ(result.body.size(), 1025U);
}

TEST(McpMessage, ReplacesInvalidUnicode) {
    const auto text = [](std::string_view written) {
        const mcp_message read =
            only(R"({"jsonrpc":"2.0","id":1,"result":{"a":")" + std::string(written) + "\"}}");
        return std::string(read.body.at("a").as_string());
    };
    EXPECT_EQ(text(R"(cut \ud83d)"), "cut \xEF\xBF\xBD");
    EXPECT_EQ(text(R"(\ude00 \ud83d\ude00)"), "\xEF\xBF\xBD \xF0\x9F\x98\x80");
    EXPECT_EQ(text("cut \xF0\x9F"), "cut \xEF\xBF\xBD");
    EXPECT_EQ(text("\xFF \\\\ud83d"), "\xEF\xBF\xBD \\ud83d");
}

TEST(McpMessage, SkipsAByteOrderMark) {
    EXPECT_EQ(only("\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}").answered, 1);
}

TEST(McpMessage, IgnoresInvalidMessages) {
    for (const std::string text :
         {"", "listening on port 1", "null", "[]", "1", "{}", "{\"jsonrpc\":\"2.0\"}",
          R"({"jsonrpc":"1.0","id":1,"result":{}})", R"({"id":1,"result":{}})",
          R"({"jsonrpc":"2.0","id":null,"result":{}})", R"({"jsonrpc":"2.0","id":1.5,"result":{}})",
          R"({"jsonrpc":"2.0","method":1})", R"({"jsonrpc":"2.0","method":"a","id":{}})",
          R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}})"}) {
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

TEST(McpMessage, WritesRequestsNotificationsAndReplies) {
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

TEST(McpMessage, AnAnswerThatTheBudgetHasNoRoomForKeepsItsId) {
    std::string zeros = "[0";
    for (int i = 0; i < 100'000; ++i) {
        zeros += ",0";
    }
    zeros += "]";
    memory_budget budget(1U << 20U);
    const auto read = [&](std::string_view rest) {
        return read_mcp_messages(
            R"({"jsonrpc":"2.0","result":{"id":7,"a":)" + zeros + "}" + std::string(rest), &budget
        );
    };

    const mcp_messages answer = read(R"(,"id":5})");
    ASSERT_EQ(answer.messages.size(), 1U);
    EXPECT_EQ(answer.messages.front().what, kind::too_large);
    EXPECT_EQ(answer.messages.front().answered, 5);
    EXPECT_EQ(read(R"(,"id":"5"})").messages.at(0).answered, 5);
    EXPECT_EQ(read(R"(,"id":5,"method":"m"})").ignored, 1U) << "a request has an id of its own";
    EXPECT_EQ(read("}").ignored, 1U);
    EXPECT_EQ(budget.used(), 0U);
}

TEST(McpMessage, CountsForAsLongAsItLives) {
    memory_budget budget(16U << 20U);
    {
        const mcp_messages read = read_mcp_messages(
            R"({"jsonrpc":"2.0","id":1,"result":{"a":")" + std::string(300'000, 'x') + "\"}}",
            &budget
        );
        EXPECT_GE(budget.used(), 300'000U);
        EXPECT_LE(budget.used(), 600'000U) << "one copy";
    }
    EXPECT_EQ(budget.used(), 0U);
}

} // namespace
} // namespace agui::runner
