#include "translator/agui/event_writer.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace agui::translator {
namespace {

std::string escaped(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

std::string written(std::string_view json) {
    std::string out;
    append_json(out, boost::json::parse(json));
    return out;
}

TEST(AppendJsonString, CopiesPlainTextAsItIs) {
    EXPECT_EQ(escaped(""), R"("")");
    EXPECT_EQ(escaped("Hello / world\x7F"), "\"Hello / world\x7F\"");
}

TEST(AppendJsonString, EscapesWhatJsonForbidsAndNothingElse) {
    EXPECT_EQ(escaped("a\"b\\c"), R"("a\"b\\c")");
    EXPECT_EQ(escaped("\b\f\n\r\t"), R"("\b\f\n\r\t")");
    EXPECT_EQ(escaped(std::string_view("\0\x01\x1F", 3)), R"("\u0000\u0001\u001f")");
}

TEST(AppendJsonString, EscapesAtBothEndsAndInARow) {
    EXPECT_EQ(escaped("\n\nx\n"), R"("\n\nx\n")");
}

TEST(AppendJsonString, KeepsValidUtf8) {
    // Two, three and four bytes; the ends of each range; U+2028 needs no escape in JSON.
    const std::string text =
        "\u00e4 \u4f60 \U0001F600 \u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff \u2028";

    EXPECT_EQ(escaped(text), '"' + text + '"');
}

TEST(AppendJsonString, ReplacesEachBrokenSequenceOnce) {
    const std::string mark = "\uFFFD";

    EXPECT_EQ(escaped("a\x80z"), "\"a" + mark + "z\"");        // A continuation alone.
    EXPECT_EQ(escaped("a\xC3"), "\"a" + mark + "\"");          // Cut at the end.
    EXPECT_EQ(escaped("a\xE4\xBD"), "\"a" + mark + "\"");      // Cut after two of three.
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

TEST(AppendJson, WritesEveryKindInOneLine) {
    EXPECT_EQ(
        written(R"( { "a" : [ 1, -2, true, false, null, "x\n" ], "b" : { }, "c" : [ ] } )"),
        R"({"a":[1,-2,true,false,null,"x\n"],"b":{},"c":[]})"
    );
}

TEST(AppendJson, KeepsIntegersIntegers) {
    EXPECT_EQ(written("9007199254740993"), "9007199254740993");
    EXPECT_EQ(written("-9223372036854775808"), "-9223372036854775808");
    EXPECT_EQ(written("18446744073709551615"), "18446744073709551615");
}

TEST(AppendJson, WritesDoublesShortAndExact) {
    EXPECT_EQ(written("0.1"), "0.1");
    EXPECT_EQ(written("1e300"), "1e+300");
    EXPECT_EQ(written("-2.5"), "-2.5");
}

TEST(AppendJson, WritesNullForNumbersThatJsonLacks) {
    std::string out;

    append_json(out, boost::json::value(std::numeric_limits<double>::infinity()));

    EXPECT_EQ(out, "null");
}

TEST(EventWriter, WritesMembersInTheOrderOfTheCalls) {
    event_writer writer;

    writer.begin("CUSTOM");
    writer.member("timestamp", std::int64_t{-5});
    writer.member("name", std::string_view("a\"b"));
    writer.member("value", boost::json::value(nullptr));
    writer.raw_member("raw", "[1]");

    EXPECT_EQ(
        writer.end(), R"({"type":"CUSTOM","timestamp":-5,"name":"a\"b","value":null,"raw":[1]})"
    );
}

TEST(EventWriter, WritesDeltasOneAfterTheOther) {
    event_writer writer;
    const auto text = [&writer](std::string_view id, std::string_view delta) {
        return std::string(writer.delta("TEXT_MESSAGE_CONTENT", "messageId", id, delta));
    };

    EXPECT_EQ(text("m1", "a"), R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a"})");
    EXPECT_EQ(text("m1", "\""), R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"\""})");
    EXPECT_EQ(text("m2", "b"), R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m2","delta":"b"})");
    EXPECT_EQ(text("m", "c"), R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"c"})");
    EXPECT_EQ(
        text("m23456789012345678901234567890", "d"),
        R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m23456789012345678901234567890","delta":"d"})"
    );
    EXPECT_EQ(text("", "e"), R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"","delta":"e"})");
    EXPECT_EQ(text("\"", "f"), R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"\"","delta":"f"})");
    EXPECT_EQ(text("\"", "g"), R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"\"","delta":"g"})");
    (void)text("a\"", "x");
    EXPECT_EQ(
        text("a\\\"", "y"), R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"a\\\"","delta":"y"})"
    );
    EXPECT_EQ(
        writer.delta("TOOL_CALL_ARGS", "toolCallId", "\"", "h"),
        R"({"type":"TOOL_CALL_ARGS","toolCallId":"\"","delta":"h"})"
    );
    EXPECT_EQ(text("m", "i"), R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"i"})");
}

TEST(EventWriter, ADeltaAfterAnotherEventIsWrittenWhole) {
    event_writer writer;
    (void)writer.delta("TEXT_MESSAGE_CONTENT", "messageId", "m", "a");
    writer.begin("RAW");
    (void)writer.end();

    EXPECT_EQ(
        writer.delta("TEXT_MESSAGE_CONTENT", "messageId", "m", "b"),
        R"({"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"})"
    );
}

TEST(EventWriter, StartsOverInTheSameBuffer) {
    event_writer writer;
    writer.begin("TEXT_MESSAGE_CONTENT");
    writer.member("delta", std::string_view("a text that is longer than the next one"));
    const char* const buffer = writer.end().data();

    writer.begin("RAW");
    const std::string_view second = writer.end();

    EXPECT_EQ(second, R"({"type":"RAW"})");
    EXPECT_EQ(second.data(), buffer);
}

} // namespace
} // namespace agui::translator
