#include "runner/base/utf8.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace agui::runner {
namespace {

constexpr std::string_view grin = "\xF0\x9F\x98\x80";
constexpr std::string_view grin_as_pair = "\xED\xA0\xBD\xED\xB8\x80";

TEST(Utf8, TellsTextFromOtherBytes) {
    for (const std::string_view good :
         {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF",
          "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"}) {
        SCOPED_TRACE(good);
        EXPECT_TRUE(is_utf8(good));
        EXPECT_EQ(to_utf8(good), good);
    }
    for (const std::string_view bad :
         {"\x80", "\xC1\x81", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "a\xFF"}) {
        SCOPED_TRACE(bad);
        EXPECT_FALSE(is_utf8(bad));
        EXPECT_TRUE(is_utf8(to_utf8(bad)));
    }
}

TEST(Utf8Joiner, JoinsATextThatIsCutAtAnyTwoBytes) {
    for (const std::string_view whole : {grin, grin_as_pair}) {
        const std::string text = "a\xC3\xA9" + std::string(whole) + "b";
        for (std::size_t first = 0; first <= text.size(); ++first) {
            for (std::size_t second = first; second <= text.size(); ++second) {
                utf8_joiner joiner;
                std::string out;
                joiner.join(std::string_view(text).substr(0, first), out);
                EXPECT_TRUE(is_utf8(out));
                joiner.join(std::string_view(text).substr(first, second - first), out);
                EXPECT_TRUE(is_utf8(out));
                joiner.join(std::string_view(text).substr(second), out);
                EXPECT_TRUE(joiner.empty());
                EXPECT_EQ(out, "a\xC3\xA9" + std::string(grin) + "b");
            }
        }
    }
}

TEST(Utf8Joiner, HoldsNoMoreThanTheBeginOfACharacter) {
    utf8_joiner joiner;
    std::string out;

    joiner.join("abc\xF0", out);
    EXPECT_EQ(out, "abc");
    EXPECT_FALSE(joiner.empty());
    joiner.join("abc", out);
    EXPECT_EQ(
        out, "abc\xEF\xBF\xBD"
             "abc"
    );
    EXPECT_TRUE(joiner.empty());
}

TEST(Utf8Joiner, EndsWithAMarkForMissingBytes) {
    for (const std::string_view half :
         {"\xF0\x9F\x98", "\xED\xA0\xBD", "\xED\xA0\xBD\xED\xB8", "\xC3"}) {
        SCOPED_TRACE(half);
        utf8_joiner joiner;
        std::string out;
        joiner.join(half, out);
        EXPECT_EQ(out, "");
        joiner.finish(out);
        EXPECT_EQ(out, "\xEF\xBF\xBD");
        joiner.finish(out);
        EXPECT_EQ(out, "\xEF\xBF\xBD");
    }
}

TEST(MakeUtf8, MendsTextAndParts) {
    session::content text = std::string("a\xC3");
    EXPECT_EQ(make_utf8(text), 4U);
    EXPECT_EQ(std::get<std::string>(text), "a\xEF\xBF\xBD");

    boost::json::value nested = "b\xFF";
    for (int depth = 0; depth < 100; ++depth) { // Deeper than parsers usually allow.
        nested = boost::json::array{nested};
    }
    session::content parts = boost::json::array{{{"text", "a\xC3"}, {"k\x80", 1}}, nested};
    const std::size_t bytes = make_utf8(parts);
    const std::string mended = boost::json::serialize(std::get<boost::json::array>(parts));
    EXPECT_EQ(bytes, mended.size());
    EXPECT_TRUE(is_utf8(mended));
    EXPECT_TRUE(mended.starts_with("[{\"text\":\"a\xEF\xBF\xBD\",\"k\xEF\xBF\xBD\":1}")) << mended;
}

TEST(MakeUtf8, LeavesUtf8AsItIs) {
    const session::content text = std::string(grin);
    const session::content parts = boost::json::array{{{"text", grin}, {"number", 1e300}}};
    for (const session::content& each : {text, parts}) {
        session::content same = each;
        EXPECT_GT(make_utf8(same), grin.size() - 1);
        EXPECT_EQ(same, each);
    }
}

TEST(Utf8Head, CutsBetweenCharacters) {
    const std::string text = "a\u20ac\U0001F600";
    const std::vector<std::size_t> sizes = {0, 1, 1, 1, 4, 4, 4, 4, 8, 8};
    for (std::size_t limit = 0; limit < sizes.size(); ++limit) {
        EXPECT_EQ(utf8_head(text, limit), text.substr(0, sizes[limit])) << limit;
    }
    EXPECT_EQ(utf8_head("", 5), "");
    EXPECT_EQ(utf8_head(std::string(9, '\x80'), 5).size(), 2U) << "not UTF-8: still bounded";
}

} // namespace
} // namespace agui::runner
