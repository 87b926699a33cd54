#include "proto-fixtures/replay/placeholders.hpp"

#include "proto-fixtures/replay/fixture.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace agui::replay {
namespace {

namespace json = boost::json;

json::value parse(std::string_view text) { return json::parse(text); }

json::object object(std::string_view text) { return json::parse(text).as_object(); }

TEST(Placeholders, TakeTheSameIdEverywhere) {
    placeholders known;

    EXPECT_FALSE(known.compare(parse(R"(["$id:m", "$id:m"])"), parse(R"(["msg_1", "msg_1"])")));
    EXPECT_EQ(
        known.compare(parse(R"({"id":"$id:m"})"), parse(R"({"id":"msg_2"})")),
        "id: $id:m is \"msg_1\", got \"msg_2\""
    );
}

TEST(Placeholders, TellDifferentNamesApart) {
    placeholders known;

    EXPECT_TRUE(known.compare(parse(R"(["$id:a", "$id:b"])"), parse(R"(["msg_1", "msg_1"])")));
}

TEST(Placeholders, ForgetIdsOfAComparisonThatFailed) {
    placeholders known;

    EXPECT_TRUE(known.compare(parse(R"(["$id:a", 1])"), parse(R"(["msg_1", 2])")));
    EXPECT_FALSE(known.compare(parse(R"(["$id:a"])"), parse(R"(["msg_2"])")));
}

TEST(Placeholders, RefuseEmptyIds) {
    placeholders known;

    EXPECT_TRUE(known.compare(parse(R"("$id:a")"), parse(R"("")")));
}

TEST(Placeholders, KnowTimesPartsAndAbsence) {
    placeholders known;

    EXPECT_FALSE(known.compare(parse(R"("$time")"), parse("1700000000000")));
    EXPECT_TRUE(known.compare(parse(R"("$time")"), parse("1.5")));
    EXPECT_FALSE(known.compare(parse(R"("$contains:gone")"), parse(R"("it is gone now")")));
    EXPECT_TRUE(known.compare(parse(R"("$contains:gone")"), parse(R"("it is here")")));
    EXPECT_FALSE(known.compare(parse(R"({"a":"$absent"})"), parse("{}")));
    EXPECT_TRUE(known.compare(parse(R"({"a":"$absent"})"), parse(R"({"a":null})")));
    EXPECT_TRUE(known.compare(parse(R"({"a":"$any"})"), parse("{}")));
}

TEST(Placeholders, RefuseMembersThatAreNotExpected) {
    placeholders known;

    EXPECT_EQ(
        known.compare(parse(R"({"a":1})"), parse(R"({"a":1,"b":null})")), "b is not expected"
    );
    EXPECT_FALSE(known.compare_members(object(R"({"a":1})"), object(R"({"a":1,"b":2})")));
}

TEST(Placeholders, FillKnownNamesAndRefuseUnknownOnes) {
    placeholders known;
    ASSERT_FALSE(known.compare(parse(R"("$id:m")"), parse(R"("msg_1")")));

    EXPECT_EQ(known.fill(parse(R"({"a":["$id:m","x"]})")), parse(R"({"a":["msg_1","x"]})"));
    EXPECT_THROW((void)known.fill(parse(R"("$id:other")")), fixture_error);
}

TEST(EventDiff, ShowsMissingAndUnexpectedEvents) {
    placeholders known;
    const std::vector<json::object> expected{
        object(R"({"type":"A"})"), object(R"({"type":"B"})"), object(R"({"type":"C"})")
    };
    const std::vector<json::object> got{
        object(R"({"type":"A"})"), object(R"({"type":"X"})"), object(R"({"type":"C"})")
    };

    const std::vector<diff_line> lines = compare_events(known, expected, got);

    EXPECT_TRUE(differs(lines));
    EXPECT_EQ(
        render(lines),
        (std::vector<std::string>{
            R"(  {"type":"A"})", R"(- {"type":"B"})", R"(+ {"type":"X"})", R"(  {"type":"C"})"
        })
    );
}

TEST(EventDiff, LooksAtTimestampsOnlyWhereTheExpectationHasOne) {
    placeholders known;
    const std::vector<json::object> got{object(R"({"type":"A","timestamp":5})")};

    EXPECT_FALSE(differs(compare_events(known, {object(R"({"type":"A"})")}, got)));
    EXPECT_FALSE(differs(compare_events(known, {object(R"({"type":"A","timestamp":"$time"})")}, got)
    ));
    EXPECT_TRUE(differs(compare_events(known, {object(R"({"type":"A","timestamp":6})")}, got)));
}

} // namespace
} // namespace agui::replay
