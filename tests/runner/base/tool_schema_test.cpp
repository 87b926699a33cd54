#include "runner/base/tool_schema.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::runner {
namespace {

std::string made(std::string_view given) {
    return boost::json::serialize(tool_schema(boost::json::parse(given)));
}

const std::string without_properties = R"({"type":"object","properties":{}})";

TEST(ToolSchema, AnInvalidSchemaBecomesOneWithoutProperties) {
    for (const std::string_view given : {"null", "{}", "true", "false", "[]", "1", R"("object")"}) {
        EXPECT_EQ(made(given), without_properties) << given;
    }
}

TEST(ToolSchema, ACompleteOneStaysAsItIs) {
    for (const std::string given :
         {R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})",
          R"({"properties":{"a":true},"type":"object","additionalProperties":false})",
          R"({"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{}}})",
          R"({"$schema":"s","type":"object","properties":{"a":{"default":null}},"default":null})"
         }) {
        EXPECT_EQ(made(given), given);
    }
}

TEST(ToolSchema, ReferencesMayLeadToOneOfManyDefinitions) {
    std::string definitions = R"("Args":{"properties":{"a":{}}})";
    for (int i = 0; i < 50; ++i) {
        definitions += ",\"other" + std::to_string(i) + "\":{}";
    }

    const boost::json::object schema =
        tool_schema(boost::json::parse(R"({"$ref":"#/$defs/Args","$defs":{)" + definitions + "}}"));

    EXPECT_TRUE(schema.at("properties").as_object().contains("a"));
}

TEST(ToolSchema, HasPropertiesWhateverStoodThere) {
    EXPECT_EQ(made(R"({"type":"object"})"), without_properties);
    EXPECT_EQ(made(R"({"type":"object","properties":null})"), without_properties);
    EXPECT_EQ(made(R"({"type":"object","properties":[]})"), without_properties);
    EXPECT_EQ(
        made(R"({"type":"object","properties":[],"required":[]})"),
        R"({"type":"object","properties":{},"required":[]})"
    );
}

TEST(ToolSchema, IsOfAnObject) {
    EXPECT_EQ(made(R"({"properties":{"a":{}}})"), R"({"type":"object","properties":{"a":{}}})");
    EXPECT_EQ(made(R"({"type":null,"properties":{}})"), without_properties);
    EXPECT_EQ(
        made(R"({"type":["null","object"],"properties":{"a":{}}})"),
        R"({"type":"object","properties":{"a":{}}})"
    );
    EXPECT_EQ(made(R"({"type":["object"]})"), without_properties);
    EXPECT_EQ(
        made(R"({"type":"OBJECT","properties":{"a":{}}})"),
        R"({"type":"object","properties":{"a":{}}})"
    );
    EXPECT_EQ(
        made(R"({"type":"dict","properties":{"a":{}}})"),
        R"({"type":"object","properties":{"a":{}}})"
    );
}

TEST(ToolSchema, ASchemaOfOtherValuesSaysNothingOfArguments) {
    for (const std::string_view given :
         {R"({"type":"array","items":{"type":"string"}})", R"({"type":"string","enum":["a"]})",
          R"({"type":["string","null"]})", R"({"type":5})", R"({"type":"null"})"}) {
        EXPECT_EQ(made(given), without_properties) << given;
    }
}

TEST(ToolSchema, AReferenceAtTheTopIsFollowed) {
    EXPECT_EQ(
        made(R"({"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object",)"
             R"("properties":{"a":{"$ref":"#/definitions/Args"}},"required":["a"]}}})"),
        R"({"definitions":{"Args":{"type":"object",)"
        R"("properties":{"a":{"$ref":"#/definitions/Args"}},"required":["a"]}},)"
        R"("type":"object","properties":{"a":{"$ref":"#/definitions/Args"}},"required":["a"]})"
    );
    // One refers to another, and the outer members win.
    EXPECT_EQ(
        made(
            R"({"title":"T","$ref":"#/$defs/a~1b","$defs":{"a/b":{"$ref":"#/$defs/c","title":"B"},)"
            R"("c":{"properties":{"x":{}}}}})"
        ),
        R"({"type":"object","title":"T","$defs":{"a/b":{"$ref":"#/$defs/c","title":"B"},)"
        R"("c":{"properties":{"x":{}}}},"properties":{"x":{}}})"
    );
}

TEST(ToolSchema, AReferenceToNothingOrInACircleLeavesTheRest) {
    for (const std::string reference :
         {"#/$defs/none", "#", "other.json", "#/$defs/circle", "#/$defs/text", "#bad/%"}) {
        SCOPED_TRACE(reference);
        EXPECT_EQ(
            made(
                R"({"$ref":")" + reference +
                R"(","$defs":{"circle":{"$ref":"#/$defs/circle"},"text":"x"}})"
            ),
            R"({"type":"object","$defs":{"circle":{"$ref":"#/$defs/circle"},"text":"x"},"properties":{}})"
        );
    }
}

TEST(ToolSchema, HasThePropertiesOfAllChoicesAtTheTop) {
    EXPECT_EQ(
        made(R"({"title":"T","anyOf":[{"type":"object","properties":{"a":{"type":"string"}},)"
             R"("required":["a"]},{"properties":{"b":{}},"required":["b"]}]})"),
        R"({"type":"object","title":"T","properties":{"a":{"type":"string"},"b":{}}})"
    );
    EXPECT_EQ(
        made(R"({"type":"object","properties":{"a":{},"b":{}},)"
             R"("oneOf":[{"required":["a"]},{"required":["b"]}]})"),
        R"({"type":"object","properties":{"a":{},"b":{}}})"
    );
    EXPECT_EQ(
        made(R"({"properties":{"a":{}},"required":["a"],)"
             R"("allOf":[{"properties":{"b":{}},"required":["b"]},{"properties":{"c":{}}}]})"),
        R"({"type":"object","properties":{"a":{},"b":{},"c":{}},"required":["a","b"]})"
    );
}

TEST(ToolSchema, AChoiceMayReferAndHoldChoices) {
    EXPECT_EQ(
        made(R"({"$defs":{"A":{"properties":{"a":{}},"required":["a","x"]}},)"
             R"("anyOf":[{"$ref":"#/$defs/A"},{"type":"null"},)"
             R"({"oneOf":[{"properties":{"x":{}},"required":["x"]}]}]})"),
        R"({"type":"object","$defs":{"A":{"properties":{"a":{}},"required":["a","x"]}},)"
        R"("properties":{"a":{},"x":{}},"required":["x"]})"
    );
}

TEST(ToolSchema, MembersThatChoicesDifferInMayBeEither) {
    EXPECT_EQ(
        made(R"({"oneOf":[{"properties":{"kind":{"const":"a"}},"required":["kind"]},)"
             R"({"properties":{"kind":{"const":"b"}},"required":["kind"]},)"
             R"({"properties":{"kind":{"const":"c"}},"required":["kind"]},)"
             R"({"properties":{"kind":{"const":"a"}},"required":["kind"]}]})"),
        R"({"type":"object","properties":{"kind":{"anyOf":)"
        R"([{"const":"a"},{"const":"b"},{"const":"c"}]}},"required":["kind"]})"
    );
}

TEST(ToolSchema, HasNothingAtTheTopThatServersRefuseThere) {
    EXPECT_EQ(
        made(R"({"type":"object","not":{"required":["a"]},"enum":[{}],"anyOf":null,"allOf":5})"),
        without_properties
    );
}

// A schema is made for each request, so its cost must not depend on how often a large part is
// referred to.
TEST(ToolSchema, ChoicesInACircleEnd) {
    std::string choices;
    for (int i = 0; i < 200; ++i) {
        choices += R"({"$ref":"#/$defs/A"},)";
    }
    const auto schema = tool_schema(boost::json::parse(
        R"({"$defs":{"A":{"properties":{"a":{}},"anyOf":[)" + choices +
        R"({"properties":{"b":{}}}]}},"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/A"}]})"
    ));

    EXPECT_TRUE(schema.at("properties").get_object().contains("a"));
    EXPECT_FALSE(schema.contains("anyOf"));
}

TEST(ToolSchema, ChoicesThatCopyALargePartAgainAndAgainEnd) {
    std::string large;
    for (int i = 0; i < 1000; ++i) {
        large += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + R"(":{"enum":[1,2,3]})";
    }
    std::string choices;
    for (int i = 0; i < 20; ++i) {
        choices += R"({"$ref":"#/$defs/A"},)";
    }
    const auto schema = tool_schema(boost::json::parse(
        R"({"$defs":{"A":{"properties":{)" + large + R"(},"required":["p1"]}},"anyOf":[)" +
        choices + R"({"properties":{"last":{}},"required":["last"]}]})"
    ));

    EXPECT_TRUE(schema.at("properties").get_object().contains("p999"));
    EXPECT_FALSE(schema.at("properties").get_object().contains("last"));
    EXPECT_FALSE(schema.contains("required")) << "the last choice may require something else";
}

TEST(ToolSchema, RequiresManyNamesOnce) {
    std::string names;
    for (int i = 0; i < 3000; ++i) {
        names += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + "\"";
    }
    EXPECT_EQ(
        made(
            R"({"required":[)" + names + "," + names + R"(],"allOf":[{"required":[)" + names +
            R"(,5,"other"]}]})"
        ),
        R"({"type":"object","required":[)" + names + R"(,"other"],"properties":{}})"
    );
}

TEST(ToolSchema, TellsWhetherArgumentsCanFit) {
    for (const std::string_view schema :
         {"null", "true", "{}", R"({"type":"object"})", R"({"type":["object","null"]})",
          R"({"anyOf":[{"type":"array"}]})", R"({"$ref":"http://h/"})"}) {
        EXPECT_TRUE(describes_objects(boost::json::parse(schema))) << schema;
    }
    for (const std::string_view schema :
         {R"({"type":"array"})", R"({"type":["string","null"]})",
          R"({"$ref":"#/$defs/A","$defs":{"A":{"type":"string"}}})"}) {
        EXPECT_FALSE(describes_objects(boost::json::parse(schema))) << schema;
    }
}

TEST(ToolSchema, MembersThatAreNullAreAbsent) {
    EXPECT_EQ(
        made(R"({"type":"object","properties":{},"required":null,"$defs":null,"description":null})"
        ),
        without_properties
    );
}

} // namespace
} // namespace agui::runner
