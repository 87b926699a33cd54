#include "runner/provider/answer_blocks.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace json = boost::json;
using kind = answer_blocks::block::kind;

std::uint64_t hash_of(std::string_view text) {
    text_hash hash;
    hash.add(text);
    return hash.value();
}

answer_blocks::block block(kind what, std::size_t bytes, json::object members = {}) {
    return {.what = what, .bytes = bytes, .members = std::move(members)};
}

/// An answer that thinks, speaks, calls, thinks without being shown, and calls.
class AnswerBlocks : public ::testing::Test {
protected:
    AnswerBlocks() {
        record.text = hash_of("Look.");
        record.thoughts = hash_of("Hm.");
        record.list = {
            block(kind::thinking, 3, {{"signature", "s1"}}),
            block(kind::text, 5),
            block(kind::call, 0, {{"caller", {{"type", "direct"}}}}),
            block(kind::thinking, 0, {{"signature", "s2"}}),
            block(kind::other, 0, {{"type", "redacted_thinking"}, {"data", "d"}}),
            block(kind::call, 0)
        };
        answer.tool_calls = {{"a", "f", "{}", {}, {}}, {"b", "g", "{}", {}, {}}};
        auto origin = std::make_shared<session::turn_origin>();
        origin->blocks.resize(2);
        for (std::size_t at = 0; at < 2; ++at) {
            origin->blocks[at].what = session::turn_block::kind::call;
            origin->blocks[at].id = answer.tool_calls[at].id;
        }
        answer.origin = origin;
    }

    [[nodiscard]] bool fits(std::string_view text, std::string_view thoughts) const {
        return !place_blocks(record, answer, text, thoughts).empty();
    }

    answer_blocks record;
    session::message answer;
};

TEST_F(AnswerBlocks, AreReadAsTheyWereWritten) {
    const json::value stored = json::parse(json::serialize(to_json(record)));
    const auto read = answer_blocks_from_json(&stored);

    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(*read), to_json(record));
    EXPECT_EQ(read->list.at(0).members, (json::object{{"signature", "s1"}}));
}

TEST_F(AnswerBlocks, OfAnotherFormAreNotRead) {
    for (const std::string_view text :
         {"null", "[]", "{}", R"({"text":"1","thoughts":"2"})",
          R"({"text":"x","thoughts":"2","blocks":[]})", R"({"text":"1","thoughts":2,"blocks":[]})",
          R"({"text":"1","thoughts":"2","blocks":[{"is":"sound"}]})",
          R"({"text":"1","thoughts":"2","blocks":[{"is":"text","bytes":-1}]})"}) {
        SCOPED_TRACE(text);
        const json::value value = json::parse(text);
        EXPECT_FALSE(answer_blocks_from_json(&value));
    }
    EXPECT_FALSE(answer_blocks_from_json(nullptr));
}

TEST_F(AnswerBlocks, StandForThePartsOfTheirAnswer) {
    const std::string text = "Look.";
    const std::vector<placed_block> placed = place_blocks(record, answer, text, "Hm.");

    ASSERT_EQ(placed.size(), 6U);
    EXPECT_EQ(placed[0].text, "Hm.");
    EXPECT_EQ(placed[1].text, "Look.");
    EXPECT_EQ(placed[2].call, &answer.tool_calls[0]);
    EXPECT_EQ(placed[3].text, "");
    EXPECT_EQ(placed[3].members->at("signature"), "s2");
    EXPECT_EQ(placed[4].members->at("data"), "d");
    EXPECT_EQ(placed[5].call, &answer.tool_calls[1]);
}

TEST_F(AnswerBlocks, OfAChangedAnswerDoNotFit) {
    EXPECT_TRUE(fits("Look.", "Hm."));
    EXPECT_FALSE(fits("Look!", "Hm."));
    EXPECT_FALSE(fits("Look", "Hm."));
    EXPECT_FALSE(fits("Look.", "Ha."));
    EXPECT_FALSE(fits("Look.", ""));

    std::swap(answer.tool_calls[0], answer.tool_calls[1]);
    EXPECT_FALSE(fits("Look.", "Hm."));
    answer.tool_calls.pop_back();
    EXPECT_FALSE(fits("Look.", "Hm."));
}

TEST_F(AnswerBlocks, ThatAreTooLongOrTooShortDoNotFit) {
    record.list[1].bytes = 6;
    EXPECT_FALSE(fits("Look.", "Hm."));
    record.list[1].bytes = 4;
    EXPECT_FALSE(fits("Look.", "Hm."));
}

TEST_F(AnswerBlocks, OfATextAndCallsArePlain) {
    EXPECT_FALSE(record.is_plain());
    record.list = {
        block(kind::thinking, 2), block(kind::text, 1), block(kind::call, 0), block(kind::call, 0)
    };
    EXPECT_TRUE(record.is_plain());
    record.list.push_back(block(kind::text, 1));
    EXPECT_FALSE(record.is_plain()) << "text after a call";
    record.list = {block(kind::text, 1), block(kind::text, 1)};
    EXPECT_FALSE(record.is_plain()) << "two texts";
}

} // namespace
} // namespace agui::runner
