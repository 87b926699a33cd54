#include "runner/base/json_text.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::runner {
namespace {

std::string escaped(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

TEST(AppendJsonString, CopiesPlainTextAsItIs) {
    EXPECT_EQ(escaped(""), R"("")");
    EXPECT_EQ(escaped("Hello / world\x7F"), "\"Hello / world\x7F\"");
}

TEST(AppendJsonString, EscapesOnlyTheCharactersThatJsonForbids) {
    EXPECT_EQ(escaped("a\"b\\c"), R"("a\"b\\c")");
    EXPECT_EQ(escaped("\b\f\n\r\t"), R"("\b\f\n\r\t")");
    EXPECT_EQ(escaped(std::string_view("\0\x01\x1F", 3)), R"("\u0000\u0001\u001f")");
}

TEST(AppendJsonString, EscapesAtBothEndsAndInARow) {
    EXPECT_EQ(escaped("\n\nx\n"), R"("\n\nx\n")");
}

// Plain bytes are skipped in blocks.
TEST(AppendJsonString, FindsAnEscapeAtAnyPlace) {
    for (std::size_t length = 1; length < 70; ++length) {
        for (std::size_t place = 0; place < length; ++place) {
            std::string text(length, 'x');
            text[place] = '\n';
            EXPECT_EQ(
                escaped(text),
                '"' + std::string(place, 'x') + "\\n" + std::string(length - place - 1, 'x') + '"'
            );
            text[place] = '\x80';
            EXPECT_EQ(
                escaped(text), '"' + std::string(place, 'x') + "\uFFFD" +
                                   std::string(length - place - 1, 'x') + '"'
            );
        }
    }
}

TEST(PlainBytes, EndBeforeTheFirstByteThatIsNot) {
    for (std::size_t length = 0; length < 70; ++length) {
        const std::string plain(length, '~');
        EXPECT_EQ(plain_bytes(plain), length);
        for (const std::string_view other : {"\"", "\\", "\x1F", "\x80", "\xFF", "\u00e4"}) {
            EXPECT_EQ(plain_bytes(plain + std::string(other) + plain), length) << other;
        }
        EXPECT_EQ(plain_bytes(plain + std::string(1, '\0')), length);
    }
    EXPECT_EQ(plain_bytes(" !#[]\x7F"), 6U);
}

TEST(AppendJsonString, KeepsValidUtf8) {
    // Characters of two, three and four bytes, and the ends of each range. U+2028 needs no escape
    // in JSON.
    const std::string text =
        "\u00e4 \u4f60 \U0001F600 \u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff \u2028";

    EXPECT_EQ(escaped(text), '"' + text + '"');
}

TEST(AppendJsonString, ReplacesEachBrokenSequenceOnce) {
    const std::string mark = "\uFFFD";

    EXPECT_EQ(escaped("a\x80z"), "\"a" + mark + "z\"");        // A continuation byte alone.
    EXPECT_EQ(escaped("a\xC3"), "\"a" + mark + "\"");          // Cut at the end.
    EXPECT_EQ(escaped("a\xE4\xBD"), "\"a" + mark + "\"");      // Cut after two of three bytes.
    EXPECT_EQ(escaped("\xE4\xBDz"), "\"" + mark + "z\"");      // Another character follows.
    EXPECT_EQ(escaped("\xC0\xAF"), "\"" + mark + mark + "\""); // An overlong '/'.
    EXPECT_EQ(escaped("\xE0\x80\xAF"), "\"" + mark + mark + mark + "\"");
    EXPECT_EQ(escaped("\xED\xA0\x80"), "\"" + mark + mark + mark + "\""); // A surrogate.
    EXPECT_EQ(escaped("\xF4\x90\x80\x80"), "\"" + mark + mark + mark + mark + "\"");
    EXPECT_EQ(escaped("\xFF\xFE"), "\"" + mark + mark + "\"");
}

TEST(AppendJsonString, KeepsAQuoteThatFollowsABrokenSequence) {
    EXPECT_EQ(escaped("\xF0\x9F\x98\"x"), "\"\uFFFD\\\"x\"");
}

TEST(AppendJsonString, GivesEveryByteAFormThatAParserTakes) {
    for (int byte = 0; byte < 256; ++byte) {
        SCOPED_TRACE(byte);
        const std::string text{'a', static_cast<char>(byte), 'z'};

        const boost::json::value back = boost::json::parse(escaped(text));

        if (byte < 0x80) {
            EXPECT_EQ(back.as_string(), text);
        } else {
            EXPECT_EQ(back.as_string(), "a\uFFFDz");
        }
    }
}

} // namespace
} // namespace agui::runner
