#include "runner/loop/reply_items.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::runner {
namespace {

/// The thoughts in one line, then each segment; segments other than text as JSON.
std::string outline(std::string_view text) {
    const auto reply = read_reply_items(text);
    if (!reply) {
        return "not a reply";
    }
    std::string line = "(" + reply->thoughts + ")";
    for (const reply_items::segment& each : reply->segments) {
        const auto* const part = std::get_if<std::string>(&each);
        line +=
            " " +
            (part != nullptr ? *part : boost::json::serialize(std::get<boost::json::object>(each)));
    }
    if (!reply->has_chat) {
        line += " silent";
    }
    if (reply->more_chats > 0) {
        line += " +" + std::to_string(reply->more_chats);
    }
    if (reply->odd > 0) {
        line += " ?" + std::to_string(reply->odd);
    }
    return line;
}

TEST(ReplyItems, ThoughtsAndAChatItem) {
    EXPECT_EQ(
        outline(R"( [{"type":"thought","content":"He greets."},
                     {"type":"thought","content":"Be kind."},
                     {"type":"chat","content":"Hello!"}] )"),
        "(He greets.\n\nBe kind.) Hello!"
    );
}

TEST(ReplyItems, AnObjectWithItems) {
    EXPECT_EQ(outline(R"({"items":[{"type":"chat","content":"Hello!"}]})"), "() Hello!");
}

TEST(ReplyItems, ThoughtsAfterTheChatItemCountToo) {
    EXPECT_EQ(
        outline(R"([{"type":"chat","content":"Hi"},{"type":"thought","content":"done"}])"),
        "(done) Hi"
    );
}

TEST(ReplyItems, TextSegmentsAreJoined) {
    EXPECT_EQ(
        outline(R"([{"type":"chat","content":[{"type":"text","text":"a"},"b",
                    {"type":"text","data":{"text":"c"}},{"type":"image","url":"x"},
                    {"type":"text","text":"d"},{"type":"text","text":""}]}])"),
        R"(() abc {"type":"image","url":"x"} d)"
    );
}

TEST(ReplyItems, TheFirstChatItemCounts) {
    EXPECT_EQ(
        outline(R"([{"type":"chat","content":"a"},{"type":"chat","content":"b"},
                    {"type":"chat","content":"c"}])"),
        "() a +2"
    );
    EXPECT_EQ(outline(R"([{"type":"chat","content":[]},{"type":"chat","content":"b"}])"), "() +1");
}

TEST(ReplyItems, AModelMayBeSilent) {
    EXPECT_EQ(outline("[]"), "() silent");
    EXPECT_EQ(outline(R"([{"type":"thought","content":"Not for me."}])"), "(Not for me.) silent");
}

TEST(ReplyItems, OddItemsAreLeftOut) {
    EXPECT_EQ(
        outline(R"([5,null,"x",{},{"type":"song","content":"la"},{"type":"thought","content":1},
                    {"type":"chat"},{"type":"chat","content":{}},{"type":1,"content":"x"},
                    {"type":"chat","content":["a",7,{"url":"x"},{"type":"text"},
                                              {"type":"text","data":[]}]}])"),
        "() a ?13"
    );
}

TEST(ReplyItems, HalfACharacterIsReplaced) {
    EXPECT_EQ(
        outline(R"([{"type":"chat","content":"a \ud83d \ud83d\ude00"}])"),
        "() a \xEF\xBF\xBD \xF0\x9F\x98\x80"
    );
}

TEST(ReplyItems, AnythingElseIsNotAReply) {
    for (const char* text :
         {"", "Hello!", "{}", "7", "null", R"("[]")", R"({"items":{}})", R"({"reply":[]})", "[",
          R"([{"type":"chat","content":"cut)", R"([]x)", "```json\n[]\n```"}) {
        EXPECT_EQ(outline(text), "not a reply") << text;
    }
    EXPECT_EQ(outline(std::string(100'000, '[')), "not a reply");
}

TEST(ReplyItems, TheSchemaIsOfAnObjectAndStrict) {
    const boost::json::value schema = boost::json::parse(reply_items_schema());

    EXPECT_EQ(schema.at("type"), "object");
    EXPECT_EQ(schema.at("required"), boost::json::array{"items"});
    EXPECT_EQ(schema.at("additionalProperties"), false);
    EXPECT_EQ(schema.at("properties").at("items").at("type"), "array");
}

} // namespace
} // namespace agui::runner
