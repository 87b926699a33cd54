#include "runner/base/json_brackets.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace agui::runner {
namespace {

std::uint64_t hash_of(std::string_view text) {
    json_brackets brackets;
    brackets.feed(text);
    return brackets.hash();
}

TEST(JsonBrackets, FindTheEndOfAnObject) {
    json_brackets brackets;

    EXPECT_EQ(brackets.feed(R"({"a}\")"), 6U);
    EXPECT_FALSE(brackets.closed());
    EXPECT_EQ(brackets.feed(R"(}":[{}]}{"b")"), 8U);
    EXPECT_TRUE(brackets.closed());
    EXPECT_FALSE(brackets.hollow());
}

TEST(JsonBrackets, TellAnObjectWithNothingInIt) {
    for (const std::string_view text : {"{", "{}", "{ \n}"}) {
        json_brackets brackets;
        brackets.feed(text);
        EXPECT_TRUE(brackets.hollow()) << text;
    }
    for (const std::string_view text : {"{\"", "{[]}", "{{"}) {
        json_brackets brackets;
        brackets.feed(text);
        EXPECT_FALSE(brackets.hollow()) << text;
    }
}

TEST(JsonBrackets, HaveTheHashOfTheTokens) {
    EXPECT_EQ(hash_of(R"({"a":1,"b":"x y"})"), hash_of("{ \"a\" : 1,\n\"b\":\"x y\" }"));
    EXPECT_NE(hash_of(R"({"a":"x y"})"), hash_of(R"({"a":"xy"})"));
}

TEST(ObjectText, LooksAtAllOfTheText) {
    const auto is_whole = [](std::string_view text, std::size_t piece) {
        object_text object;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            object.feed(text.substr(at, piece));
        }
        return object.whole();
    };
    for (const std::size_t piece : {1U, 2U, 100U}) {
        for (const std::string_view text : {"{}", " {\"a\":{}}\n", R"({"a":"}"})", "{} "}) {
            EXPECT_TRUE(is_whole(text, piece)) << text;
        }
        for (const std::string_view text :
             {"", " ", "{", "{}x", "{} x ", "{}{}", "[{}]", "x{}", "[DONE]", R"({"a":"})"}) {
            EXPECT_FALSE(is_whole(text, piece)) << text;
        }
    }
}

} // namespace
} // namespace agui::runner
