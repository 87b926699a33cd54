#include "runner/tools/argument_schema.hpp"

#include "runner/tools/check_budget.hpp"
#include "runner/tools/schema_rules.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::runner {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

json::value parsed(std::string_view text) {
    json::parse_options options;
    options.max_depth = 20'000;
    return json::parse(text, {}, options);
}

std::shared_ptr<const argument_schema> schema_of(std::string_view text) {
    auto compiled = compile_argument_schema(parsed(text));
    EXPECT_TRUE(compiled) << text << ": " << (compiled ? "" : compiled.error().detail);
    return compiled ? *compiled : nullptr;
}

// Returns an empty text if the arguments fit.
std::string check(std::string_view schema, std::string_view arguments) {
    const auto compiled = schema_of(schema);
    if (compiled == nullptr) {
        return "no schema";
    }
    json::object given = parsed(arguments).as_object();
    check_budget budget;
    const auto violation = compiled->fit(given, budget);
    return violation ? violation->told : "";
}

std::string refusal(std::string_view schema) {
    const auto compiled = compile_argument_schema(parsed(schema));
    return compiled ? "compiled" : compiled.error().detail;
}

constexpr std::string_view weather = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "weather", "type": "object",
  "properties": {
    "city": {"type": "string", "minLength": 1, "maxLength": 20},
    "days": {"type": "integer", "minimum": 1, "maximum": 14},
    "unit": {"enum": ["C", "F", 5]},
    "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}, "maxItems": 3}
  },
  "required": ["city"], "additionalProperties": false,
  "$defs": {"stop": {"allOf": [{"type": "object"}], "properties": {"at": {"type": "number"}}}}
})";

TEST(ArgumentSchema, AcceptsFittingArguments) {
    EXPECT_EQ(check(weather, R"({"city":"Ulm"})"), "");
    EXPECT_EQ(check(weather, R"({"city":"Ulm","days":14,"unit":"C","stops":[{"at":1.5}]})"), "");
}

TEST(ArgumentSchema, NamesPathAndRuleOfAViolation) {
    const struct {
        std::string_view arguments, path, rule;
    } cases[] = {
        {"{}", "/", "city"},
        {R"({"city":5})", "/city", "type"},
        {R"({"city":"Ulm","days":15})", "/days", "14"},
        {R"({"city":"Ulm","days":"5"})", "/days", "type"},
        {R"({"city":"Ulm","days":1.5})", "/days", "type"},
        {R"({"city":"Ulm","unit":"K"})", "/unit", "enum"},
        {R"({"city":"Ulm","stops":[{},{"at":"x"}]})", "/stops/1/at", "type"},
        {R"({"city":"Ulm","stops":[{},5]})", "/stops/1", "type"},
        {R"({"city":"Ulm","__proto__":{}})", "/", "__proto__"},
    };
    for (const auto& each : cases) {
        const std::string told = check(weather, each.arguments);
        EXPECT_THAT(told, HasSubstr(" At " + std::string(each.path) + ": ")) << each.arguments;
        EXPECT_THAT(told, HasSubstr(std::string(each.rule))) << each.arguments;
    }
}

TEST(ArgumentSchema, AMessageIsBoundedAndWholeCharacters) {
    std::string name;
    for (int i = 0; i < 10'000; ++i) {
        name += "\u00e4";
    }
    const std::string told = check(
        R"({"additionalProperties":{"type":"integer"},"maxProperties":1})",
        R"({")" + name + R"(":"x","b":"x","c":"x"})"
    );
    EXPECT_LE(told.size(), 1024U);
    EXPECT_THAT(told, HasSubstr("At /\u00e4\u00e4"));
    EXPECT_THAT(told, ::testing::Not(HasSubstr("\uFFFD")));
}

TEST(ArgumentSchema, ManyViolationsAreNotAllCollected) {
    std::string list = "[0";
    for (int i = 0; i < 100'000; ++i) {
        list += ",0";
    }
    const std::string told =
        check(R"({"properties":{"a":{"items":{"type":"string"}}}})", R"({"a":)" + list + "]}");
    EXPECT_THAT(told, HasSubstr("At /a/0: "));
}

TEST(ArgumentSchema, NumbersAreComparedByTheirValue) {
    constexpr std::string_view integer = R"({"properties":{"n":{"type":"integer"}}})";
    EXPECT_EQ(check(integer, R"({"n":5.0})"), "");
    EXPECT_EQ(check(integer, R"({"n":1e3})"), "");
    EXPECT_EQ(check(integer, R"({"n":18446744073709551615})"), "");
    EXPECT_EQ(check(integer, R"({"n":1e300})"), "");
    EXPECT_EQ(check(integer, R"({"n":-1e300})"), "");
    EXPECT_NE(check(integer, R"({"n":1.5})"), "");
    EXPECT_EQ(check(R"({"properties":{"n":{"const":5.0}}})", R"({"n":5})"), "");
    EXPECT_EQ(check(R"({"properties":{"n":{"type":"number"}}})", R"({"n":5})"), "");
    EXPECT_NE(check(R"({"properties":{"n":{"maximum":10}}})", R"({"n":1e19})"), "");
    EXPECT_NE(check(R"({"properties":{"n":{"multipleOf":3}}})", R"({"n":10})"), "");
}

// Checking any of these would give a wrong answer, an endless search or a crash.
TEST(ArgumentSchema, LeavesOutKeywordsThatCannotBeCheckedSafely) {
    const std::string_view arguments =
        R"({"a":["x","x"],"s":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!","n":1000.1,
        "i":-9223372036854775808,"t":[1,"x"]})";
    for (const std::string_view schema :
         {R"({"properties":{"s":{"pattern":"^(a+)+$"}}})",
          R"({"patternProperties":{"(a+)+$":{"type":"null"}},"additionalProperties":false})",
          R"({"propertyNames":{"maxLength":0}})", R"({"properties":{"a":{"uniqueItems":true}}})",
          R"({"properties":{"s":{"format":"date"}}})", R"({"properties":{"n":{"multipleOf":0.1}}})",
          R"({"properties":{"i":{"multipleOf":-1}}})", R"({"properties":{"i":{"multipleOf":0}}})",
          R"({"properties":{"t":{"prefixItems":[{}],"items":{"type":"integer"}}}})",
          R"({"properties":{"n":{"exclusiveMinimum":true,"required":true}}})",
          R"({"properties":{"a":{"contains":{"type":"null"},"minContains":0}}})",
          R"({"properties":{"s":{"type":"null","nullable":true}}})",
          // A keyword that is left out must not make `not`, `if` or oneOf stricter.
          R"({"properties":{"s":{"not":{"pattern":"b"}}}})",
          R"({"properties":{"s":{"if":{"pattern":"b"},"then":false}}})",
          R"({"properties":{"s":{"oneOf":[{"pattern":"b"},{"type":"string"}]}}})",
          R"({"properties":{"s":{"not":{"format":"email"}}}})",
          R"({"properties":{"s":{"oneOf":[{"format":"date"},{"format":"date-time"}]}}})"}) {
        EXPECT_EQ(check(schema, arguments), "") << schema;
    }
    EXPECT_NE(
        check(
            R"({"properties":{"s":{"oneOf":[{"pattern":"b"},{"type":"null"}],"type":"null"}}})",
            arguments
        ),
        ""
    );
}

TEST(ArgumentSchema, ChecksCombinations) {
    constexpr std::string_view one =
        R"({"oneOf":[{"required":["a"]},{"required":["b"]}],"not":{"required":["c"]},
            "if":{"required":["a"]},"then":{"required":["d"]},"dependencies":{"e":["f"]}})";
    EXPECT_EQ(check(one, R"({"b":1})"), "");
    EXPECT_EQ(check(one, R"({"a":1,"d":1})"), "");
    for (const std::string_view wrong :
         {"{}", R"({"a":1,"b":1,"d":1})", R"({"b":1,"c":1})", R"({"a":1})", R"({"b":1,"e":1})"}) {
        EXPECT_NE(check(one, wrong), "") << wrong;
    }
}

TEST(ArgumentSchema, FollowsReferencesWithinTheSchema) {
    constexpr std::string_view tree =
        R"({"properties":{"n":{"type":"integer"},"next":{"$ref":"#"},"also":{"$ref":"#/allOf/0"},
            "odd":{"$ref":"#/definitions/a~1b"}},
            "allOf":[{"required":["n"]}],"definitions":{"a/b":{"type":"string"}}})";
    EXPECT_EQ(check(tree, R"({"n":1,"next":{"n":2,"next":{"n":3}},"also":{"n":1},"odd":"x"})"), "");
    EXPECT_NE(check(tree, R"({"n":1,"next":{"n":2,"next":{"n":"3"}}})"), "");
    EXPECT_NE(check(tree, R"({"n":1,"also":{}})"), "");
    EXPECT_NE(check(tree, R"({"n":1,"odd":1})"), "");
}

TEST(ArgumentSchema, AnnotationsBesideAReferenceLeaveNothingOut) {
    constexpr std::string_view schema =
        R"({"properties":{"s":{"oneOf":[{"$ref":"#/$defs/a","description":"One."},
            {"$ref":"#/$defs/a","title":"Two"}]}},"$defs":{"a":{"type":"string"}}})";
    EXPECT_THAT(check(schema, R"({"s":"x"})"), HasSubstr("more than one schema of oneOf fits"));
    EXPECT_EQ(check(R"({"not":{"$ref":"#/$defs/a","minProperties":1},"$defs":{"a":{}}})", "{}"), "")
        << "a rule that draft 7 ignores";
}

TEST(ArgumentSchema, RefusesSchemasThatItCannotCompile) {
    const std::string outside = "a $ref leads out of the schema";
    EXPECT_EQ(refusal(R"({"$ref":"http://127.0.0.1:1/s.json"})"), outside);
    EXPECT_EQ(refusal(R"({"properties":{"a":{"$ref":"file:///etc/passwd#/a"}}})"), outside);
    EXPECT_EQ(refusal(R"({"properties":{"a":{"$ref":"other.json"}}})"), outside);
    EXPECT_EQ(refusal(R"({"$ref":5})"), "a $ref is not a string");
    const std::string nowhere = "a $ref does not lead to a subschema";
    EXPECT_EQ(refusal(R"({"properties":{"a":{"$ref":"#/definitions/b"}}})"), nowhere);
    EXPECT_EQ(refusal(R"({"x":{"pattern":"(a+)+$"},"properties":{"a":{"$ref":"#/x"}}})"), nowhere);
    const std::string circle = "a $ref leads in a circle";
    EXPECT_EQ(refusal(R"({"$ref":"#"})"), circle);
    EXPECT_EQ(
        refusal(R"({"properties":{"x":{"$ref":"#/definitions/a"}},"definitions":{
            "a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}})"),
        circle
    );
    EXPECT_EQ(refusal("5"), "a subschema is neither an object nor a boolean");
    EXPECT_EQ(refusal(R"({"type":"strnig"})"), "the schema cannot be compiled");
    EXPECT_EQ(refusal(R"({"minLength":-1})"), "the schema cannot be compiled");
    EXPECT_EQ(refusal(R"({"properties":[]})"), "a keyword that needs an object has none");
    std::string deep = "{}";
    std::string value = "1";
    for (int i = 0; i < 10'000; ++i) {
        deep = R"({"items":)" + deep + "}";
        value = "[" + value + "]";
    }
    EXPECT_EQ(refusal(deep), "the schema is nested too deeply");
    EXPECT_EQ(refusal(R"({"const":)" + value + "}"), "the schema is nested too deeply");
}

// With references, a schema of a few lines can be arbitrarily deep or large.
TEST(ArgumentSchema, TheWorkOfCompilingIsBounded) {
    std::string chain = R"({"properties":{"x":{"$ref":"#/definitions/d0"}},"definitions":{)";
    for (int i = 0; i < 30'000; ++i) {
        chain += "\"d" + std::to_string(i) + R"(":{"properties":{"x":{"$ref":"#/definitions/d)" +
                 std::to_string(i + 1) + "\"}}},";
    }
    chain += R"("d30000":{}}})";
    EXPECT_EQ(refusal(chain), "the schema is too large");
}

TEST(ArgumentSchema, TheWorkOfACheckIsBounded) {
    const std::string gave_up = "The arguments have too many values, or too deeply nested ones, to "
                                "check at once: send fewer.";
    // Checks the same value again, forever.
    EXPECT_EQ(check(R"({"allOf":[{"$ref":"#"}]})", "{}"), gave_up);
    EXPECT_EQ(check(R"({"anyOf":[{"type":"null"},{"$ref":"#"}]})", "{}"), gave_up);
    // Two references at each level.
    std::string doubling = R"({"$ref":"#/definitions/d0","definitions":{)";
    for (int i = 0; i < 30; ++i) {
        const std::string next = R"({"$ref":"#/definitions/d)" + std::to_string(i + 1) + "\"}";
        doubling += "\"d" + std::to_string(i) + R"(":{"allOf":[)" + next + "," + next + "]},";
    }
    EXPECT_EQ(check(doubling + R"("d30":{}}})", "{}"), gave_up);
    // Deep arguments and a schema that follows them.
    std::string deep = "{}";
    for (int i = 0; i < 254; ++i) {
        deep = R"({"a":)" + deep + "}";
    }
    const std::string told =
        check(R"({"type":"object","additionalProperties":{"$ref":"#"}})", deep);
    EXPECT_TRUE(told.empty() || told == gave_up) << told;
}

TEST(ArgumentSchema, AReportStopsAfterEightViolations) {
    const std::string told = check(
        R"({"properties":{"a":{"items":{"type":"string"}}}})", R"({"a":[0,0,0,0,0,0,0,0,0,0,0]})"
    );
    EXPECT_THAT(told, HasSubstr("At /a/7: "));
    EXPECT_THAT(told, ::testing::Not(HasSubstr("At /a/8: ")));

    std::string names = "\"name0\"";
    for (int i = 1; i < 6000; ++i) {
        names += ",\"name" + std::to_string(i) + "\"";
    }
    const std::string missing = check(R"({"required":[)" + names + "]}", "{}");
    EXPECT_THAT(missing, HasSubstr("the member 'name0' is missing."));
    EXPECT_LE(missing.size(), 400U);
}

TEST(ArgumentSchema, NamesTheRequirementsOfEachAlternative) {
    constexpr std::string_view schema =
        R"({"properties":{"n":{"anyOf":[{"type":"integer"},{"minLength":3},{"type":"array"},
            {"type":"null"}]}}})";
    EXPECT_EQ(
        check(schema, R"({"n":true})"), "" // minLength concerns texts only.
    );
    EXPECT_EQ(
        check(schema, R"({"n":"ab"})"),
        "The arguments do not fit the tool's schema. At /n: none of 4 alternatives fits. "
        "At /n: the type must be integer. At /n: there must be at least 3 characters. "
        "At /n: the type must be array."
    );
    EXPECT_THAT(
        check(R"({"oneOf":[{"required":["a"]},{"required":["b"]}]})", R"({"a":1,"b":1})"),
        HasSubstr("more than one")
    );
}

TEST(ArgumentSchema, ComparesConstantsByTheirValue) {
    constexpr std::string_view schema =
        R"({"properties":{"c":{"const":{"a":[1,2.5,null],"b":{"x":true,"y":"1"}}},
            "e":{"enum":[[],{},"",0,false,{"a":1}]}}})";
    for (const std::string_view fitting :
         {R"({"c":{"b":{"y":"1","x":true},"a":[1.0,25e-1,null]}})", R"({"e":[]})", R"({"e":{}})",
          R"({"e":""})", R"({"e":-0.0})", R"({"e":false})", R"({"e":{"a":1}})"}) {
        EXPECT_EQ(check(schema, fitting), "") << fitting;
    }
    for (const std::string_view other :
         {R"({"c":{"b":{"y":"1","x":true},"a":[1,2.5]}})", R"({"c":[]})",
          R"({"c":{"a":[1,2.5,null],"b":{"x":true,"y":1}}})", R"({"e":[[]]})", R"({"e":"0"})",
          R"({"e":{"a":1,"b":1}})", R"({"e":{"b":1}})", R"({"e":1e-9})"}) {
        EXPECT_NE(check(schema, other), "") << other;
    }
}

TEST(ArgumentSchema, ComparesNumbersThatAreNotDoubles) {
    EXPECT_EQ(
        check(R"({"properties":{"n":{"maximum":9007199254740993}}})", R"({"n":9007199254740993})"),
        ""
    );
    EXPECT_NE(
        check(R"({"properties":{"n":{"maximum":9007199254740992}}})", R"({"n":9007199254740993})"),
        ""
    );
    EXPECT_NE(
        check(
            R"({"properties":{"n":{"maximum":18446744073709551614}}})",
            R"({"n":18446744073709551615})"
        ),
        ""
    );
    EXPECT_NE(
        check(
            R"({"properties":{"n":{"const":18446744073709551614}}})",
            R"({"n":18446744073709551615})"
        ),
        ""
    );
}

TEST(ArgumentSchema, NullMembersThatDoNotFitAreRemoved) {
    const auto compiled = schema_of(
        R"({"properties":{"a":{"type":"string"},"b":{"const":{"x":1}}},"maxProperties":3})"
    );
    ASSERT_NE(compiled, nullptr);
    json::object given =
        parsed(R"({"z":[{"n":null,"m":1}],"a":null,"b":{"y":null,"x":1},"c":null,"l":[null]})")
            .as_object();
    check_budget budget;
    EXPECT_FALSE(compiled->fit(given, budget));
    EXPECT_EQ(json::serialize(given), R"({"z":[{"m":1}],"b":{"x":1},"l":[null]})");

    // The nulls stay if removing them does not help, or if the arguments fit as they are.
    for (const std::string text : {R"({"a":5,"c":null})", R"({"c":null})"}) {
        given = parsed(text).as_object();
        static_cast<void>(compiled->fit(given, budget));
        EXPECT_EQ(json::serialize(given), text);
    }
}

TEST(ArgumentSchema, RemovingANullMemberDoesNotCopyTheOthers) {
    const auto compiled = schema_of(R"({"properties":{"x":{"type":"string"}}})");
    ASSERT_NE(compiled, nullptr);
    json::object given = parsed(R"({"x":null,"rest":[0,0]})").as_object();
    const json::value* const rest = given.at("rest").as_array().data();
    check_budget budget;

    EXPECT_FALSE(compiled->fit(given, budget));

    EXPECT_EQ(json::serialize(given), R"({"rest":[0,0]})");
    EXPECT_EQ(given.at("rest").as_array().data(), rest);
}

// A table of 300 KB, as models write it, even with a null value in it.
TEST(ArgumentSchema, ChecksManyRows) {
    constexpr std::string_view schema =
        R"({"properties":{"rows":{"items":{"properties":{"id":{"type":"integer"},
            "name":{"type":"string"},"unit":{"type":"string"},"low":{"type":"number"},
            "high":{"type":"number"}},"required":["id","name"],"additionalProperties":false}}}})";
    std::string rows = R"({"id":0,"name":"x","unit":null,"low":1,"high":2})";
    for (int i = 0; i < 6000; ++i) {
        rows += R"(,{"id":1,"name":"x","unit":"m","low":1,"high":2})";
    }

    EXPECT_EQ(check(schema, R"({"rows":[)" + rows + "]}"), "");
}

TEST(ArgumentSchema, DependenciesAndRequiredNamesAreFound) {
    constexpr std::string_view schema =
        R"({"required":["b","a","b"],"properties":{"a":{"type":"integer"}},"dependencies":
            {"c":["d","e"],"f":{"minProperties":4},"":["c"]},"additionalProperties":{"type":"null"}})";
    EXPECT_EQ(check(schema, R"({"a":1,"b":null})"), "");
    EXPECT_EQ(check(schema, R"({"a":1,"b":null,"c":null,"d":null,"e":null})"), "");
    EXPECT_THAT(check(schema, R"({"a":1})"), HasSubstr("At /: the member 'b' is missing."));
    EXPECT_THAT(check(schema, R"({"a":1,"b":2})"), HasSubstr("At /b: the type must be null"));
    EXPECT_THAT(
        check(R"({"dependencies":{"c":["d","e"]}})", R"({"c":1,"d":1})"),
        HasSubstr("At /: the member 'e' is missing beside 'c'.")
    );
    EXPECT_NE(check(R"({"dependencies":{"f":{"minProperties":4}}})", R"({"f":1})"), "");
}

TEST(ArgumentSchema, ChecksListsByTheirPlaces) {
    constexpr std::string_view schema =
        R"({"properties":{"l":{"items":[{"type":"string"},{"type":"null"}],"additionalItems":
            {"type":"integer"},"contains":{"const":7}},"m":{"additionalItems":false}}})";
    EXPECT_EQ(check(schema, R"({"l":["x",null,5,7],"m":[1]})"), "");
    EXPECT_THAT(check(schema, R"({"l":["x",null,5]})"), HasSubstr("contains"));
    EXPECT_THAT(check(schema, R"({"l":["x",7]})"), HasSubstr("At /l/1: "));
    EXPECT_THAT(check(schema, R"({"l":["x",null,7,"y"]})"), HasSubstr("At /l/3: "));
}

TEST(ArgumentSchema, ReferencesLeadToEachKindOfSubschema) {
    constexpr std::string_view schema =
        R"({"properties":{"":{"type":"null"},"0":{"items":[{},{"type":"null"}]},
            "p":{"$ref":"#/properties/"},"q":{"$ref":"#/properties/0/items/1"},
            "r":{"$ref":"#/not/anyOf/1"},"s":{"$ref":"#/dependencies/x"}},
            "not":{"anyOf":[false,{"required":["t"]}]},"dependencies":{"x":{"type":"object"}}})";
    EXPECT_EQ(check(schema, R"({"p":null,"q":null,"r":{"t":1},"s":{}})"), "");
    EXPECT_THAT(check(schema, R"({"p":1})"), HasSubstr("At /p: "));
    EXPECT_THAT(check(schema, R"({"q":1})"), HasSubstr("At /q: "));
    EXPECT_THAT(check(schema, R"({"r":{}})"), HasSubstr("At /r: the member 't' is missing"));
    EXPECT_THAT(check(schema, R"({"s":1})"), HasSubstr("At /s: "));
    EXPECT_THAT(check(schema, R"({"t":1})"), HasSubstr("not"));
    for (const std::string to :
         {"/properties", "/properties/00", "/not/anyOf/2", "/not/anyOf/", "/not/anyOf/x"}) {
        EXPECT_EQ(
            refusal(R"({"properties":{"0":{}},"not":{"anyOf":[{"$ref":"#)" + to + "\"}]}}"),
            "a $ref does not lead to a subschema"
        ) << to;
    }
}

TEST(ArgumentSchema, SubschemasWithoutRulesTakeNoMemory) {
    const auto size_of = [](std::string_view text) {
        const auto compiled = compile_schema_rules(parsed(text));
        EXPECT_TRUE(compiled);
        EXPECT_EQ(compiled->rules.capacity(), compiled->rules.size());
        return compiled->rules.size();
    };
    EXPECT_EQ(size_of(R"({"allOf":[true,{},{"title":"x"},true,{"description":"y"}]})"), 2U);
    EXPECT_EQ(size_of(R"({"properties":{"a":false,"b":false,"c":true}})"), 3U);
    EXPECT_EQ(size_of("true"), 1U);
    EXPECT_NE(check(R"({"properties":{"a":false},"$defs":{"b":{}}})", R"({"a":1})"), "");
    EXPECT_EQ(
        check(R"({"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}})", R"({"a":1})"), ""
    );
}

TEST(ArgumentSchema, WithoutASchemaNothingIsChecked) {
    const auto none = compile_argument_schema(nullptr);
    ASSERT_TRUE(none);
    EXPECT_EQ(*none, nullptr);
    EXPECT_EQ(check("{}", R"({"a":[1]})"), "");
    EXPECT_EQ(check("true", R"({"a":[1]})"), "");
}

} // namespace
} // namespace agui::runner
