#include "translator/agui/event_writer.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace agui::translator {
namespace {

std::string written(std::string_view json) {
    std::string out;
    append_json(out, boost::json::parse(json));
    return out;
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
