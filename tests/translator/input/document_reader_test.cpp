#include "translator/agui/event_writer.hpp"
#include "translator/input/document_reader.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

namespace agui::translator {
namespace {

using ::testing::HasSubstr;

result<document> document_of(std::string_view text) { return read_document(text, {}); }

std::string path_of(std::string_view text) {
    const auto read_text = document_of(text);
    if (read_text) {
        return "accepted";
    }
    EXPECT_EQ(read_text.error().code, errc::invalid_json);
    return read_text.error().path;
}

std::string canonical(std::string_view text) {
    auto made = document_of(text);
    return made ? made->canonical : "refused: " + made.error().detail;
}

// A document that boost::json accepts, with its members in the order that `random` gives.
std::string some_json(std::mt19937& random, int depth, std::mt19937& order) {
    static const std::array<std::string, 12> scalars{"null",        "true",
                                                     "false",       "0",
                                                     "-1",          "1.5",
                                                     "1e300",       "18446744073709551615",
                                                     R"("")",       R"("\u00e9\n\ud83d\ude00")",
                                                     R"("a\"b\\")", "\"h\xC3\xA9\""};
    const auto kind = depth == 0 ? 0U : random() % 4;
    if (kind < 2) {
        return scalars[random() % scalars.size()];
    }
    std::vector<std::string> inner;
    for (unsigned i = 0; i < random() % 5; ++i) {
        std::string value = some_json(random, depth - 1, order);
        inner.push_back(kind == 2 ? value : "\"k" + std::to_string(i) + "\":" + value);
    }
    if (kind == 3) {
        std::ranges::shuffle(inner, order);
    }
    std::string text(kind == 2 ? "[" : "{");
    for (std::size_t i = 0; i < inner.size(); ++i) {
        text += (i == 0 ? "" : " , ") + inner[i];
    }
    return text + (kind == 2 ? "]" : "}");
}

TEST(DocumentReader, BuildsTheSameValuesAsBoost) {
    for (std::mt19937::result_type seed = 1; seed <= 500; ++seed) {
        std::mt19937 random(seed);
        std::mt19937 order(seed);
        const std::string text = some_json(random, 5, order);
        SCOPED_TRACE(text);
        const auto made = document_of(text);

        ASSERT_TRUE(made.has_value()) << made.error().detail;
        EXPECT_EQ(made->value, boost::json::parse(text));
        EXPECT_EQ(boost::json::parse(made->canonical), made->value);
    }
}

TEST(DocumentReader, MakesEqualTextOfEqualDocuments) {
    for (std::mt19937::result_type seed = 1; seed <= 500; ++seed) {
        std::mt19937 first(seed);
        std::mt19937 second(seed);
        std::mt19937 one_order(seed);
        std::mt19937 other_order(seed + 1);

        EXPECT_EQ(
            canonical(some_json(first, 5, one_order)), canonical(some_json(second, 5, other_order))
        );
    }
}

TEST(DocumentReader, RefusesAMemberGivenTwiceAtEveryLevel) {
    EXPECT_EQ(path_of(R"({"a":1,"b":2,"a":1,"c":3})"), "a");
    EXPECT_EQ(path_of(R"({"x":{"a":1,"a":2}})"), "x.a");
    EXPECT_EQ(path_of(R"({"x":[0,{"y":[{"a":1},{"b":1,"c":1,"b":1}]}]})"), "x[1].y[1].b");
    EXPECT_EQ(path_of(R"({"x":{"a":1,"\u0061":2}})"), "x.a");
    EXPECT_EQ(path_of(R"({"a":{"a":{"b":1}},"b":{"a":1}})"), "accepted");
    const auto twice = document_of(R"({"x":{"a\n":1,"a\n":2}})");
    ASSERT_FALSE(twice.has_value());
    EXPECT_THAT(twice.error().detail, HasSubstr(R"(the member "a\n" twice)"));
}

std::string object_of(std::size_t members) {
    std::string text = "{";
    for (std::size_t i = 0; i < members; ++i) {
        text += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":0";
    }
    return text + "}";
}

TEST(DocumentReader, BoundsTheMembersOfTheOutermostObjectOnly) {
    EXPECT_EQ(path_of(object_of(1024)), "accepted");
    const auto wide = document_of(object_of(1025));
    ASSERT_FALSE(wide.has_value());
    EXPECT_EQ(wide.error().code, errc::invalid_json);
    EXPECT_EQ(wide.error().path, "");
    EXPECT_EQ(wide.error().detail, "the body has more than 1024 members");
    EXPECT_EQ(path_of("{\"state\":" + object_of(5000) + "}"), "accepted");
    EXPECT_EQ(path_of("[" + object_of(5000) + "]"), "accepted");
    document_rules text_only;
    text_only.all_as_text = true;
    EXPECT_TRUE(read_document(object_of(5000), text_only));
}

TEST(DocumentReader, RefusesNumbersThatNoDoubleHolds) {
    EXPECT_EQ(path_of(R"({"state":{"a":[1,{"b":1e400}]}})"), "state.a[1].b");
    EXPECT_EQ(path_of("[0,-1e400]"), "[1]");
    EXPECT_EQ(path_of("[1e99999999999]"), "[0]");
    EXPECT_EQ(path_of("{\"n\":" + std::string(400, '9') + "}"), "n");
    EXPECT_EQ(path_of("[1.7976931348623157e308,-1.7976931348623157e308,1e-400]"), "accepted");
    EXPECT_EQ(path_of("{\"n\":" + std::string(300, '9') + "}"), "accepted");
}

TEST(DocumentReader, BuildsOnlyWantedMembersAndChecksTheRest) {
    constexpr std::array<std::string_view, 2> built{"a", "c"};
    document_rules rules;
    rules.built = built;

    const auto made = read_document(R"({"x":[1,{"y":2}],"a":[1,{"b":[]}],"z":"s","c":{}})", rules);

    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(boost::json::serialize(made->value), R"({"a":[1,{"b":[]}],"c":{}})");
    EXPECT_EQ(made->canonical, R"({"a":[1,{"b":[]}],"c":{},"x":[1,{"y":2}],"z":"s"})");
    EXPECT_EQ(made->skipped.size(), 2U);
    EXPECT_FALSE(read_document(R"({"x":{"y":1,"y":1}})", rules).has_value());
    EXPECT_FALSE(read_document(R"({"x":[1e400]})", rules).has_value());
    EXPECT_FALSE(read_document("{\"x\":\"\xC3\x28\"}", rules).has_value());
    for (const std::string_view other : {"[1,2]", "7", "\"a\"", "[]"}) {
        EXPECT_TRUE(read_document(other, rules)->value.is_null()) << other;
    }
}

std::string text_of(std::string_view body) {
    document_rules rules;
    rules.all_as_text = true;
    auto made = read_document(body, rules);
    return made ? std::string(made->text.view()) : "refused: " + made.error().detail;
}

TEST(DocumentReader, KeepsATextAsTheValueWouldBeWritten) {
    std::mt19937 random(7);
    std::mt19937 order(11);
    for (int i = 0; i < 2000; ++i) {
        const std::string body = some_json(random, 4, order);
        std::string written;
        append_json(written, boost::json::parse(body));
        ASSERT_EQ(text_of(body), written) << body;
    }
}

TEST(DocumentReader, KeepsNumbersAndTheOrderOfMembersInAText) {
    EXPECT_EQ(
        text_of(R"( { "b" : 1.0 , "a" : [ 1e2, -0.5, 1E-7, -0, { } , [ ] , "," ] } )"),
        R"({"b":1,"a":[100,-0.5,1e-07,0,{},[],","]})"
    );
    EXPECT_EQ(text_of(R"("ends in a bracket [")"), R"("ends in a bracket [")");
    EXPECT_EQ(text_of(" null "), "null");
    EXPECT_THAT(text_of("[1e400]"), HasSubstr("refused"));
    EXPECT_THAT(text_of(R"({"a":1,"a":2})"), HasSubstr("twice"));
}

TEST(DocumentReader, KeepsOneMemberAsTextAndBuildsTheOthers) {
    constexpr std::array<std::string_view, 1> wanted{"wanted"};
    document_rules rules;
    rules.built = wanted;
    rules.as_text = "state";
    const auto made = read_document(
        R"({"other":{"state":1},"state":{"z":[1,{"state":2}],"a":"x"},"wanted":{"state":[3]}})",
        rules
    );
    ASSERT_TRUE(made);
    EXPECT_EQ(made->text.view(), R"({"z":[1,{"state":2}],"a":"x"})");
    EXPECT_EQ(boost::json::serialize(made->value), R"({"wanted":{"state":[3]}})");
    EXPECT_EQ(made->skipped.size(), 1U);

    const auto without = read_document(R"({"wanted":{"state":[3]}})", rules);
    ASSERT_TRUE(without);
    EXPECT_TRUE(without->text.is_null());
}

TEST(DocumentReader, BuildsNoValuesOfAText) {
    const std::size_t bytes = 1U << 20U;
    std::string body = R"({"state":[0)";
    while (body.size() < bytes) {
        body += ",0";
    }
    body += "]}";
    memory_budget budget(8 * bytes, 0);
    constexpr std::array<std::string_view, 1> wanted{"wanted"};
    document_rules rules;
    rules.built = wanted;
    rules.as_text = "state";
    rules.budget = &budget;
    // Values would take 16 bytes a number, while its text takes two.
    EXPECT_TRUE(read_document(body, rules));
    rules.as_text = {};
    rules.built = {};
    const auto refused = read_document(body, rules);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::overloaded);
}

TEST(DocumentReader, DropsSecretsOfTheMembersThatMayHoldThem) {
    constexpr std::array<std::string_view, 1> with_secrets{"f"};
    document_rules rules;
    rules.with_secrets = with_secrets;
    rules.is_secret = [](std::string_view key) {
        return key == "key";
    };

    const auto made = read_document(
        R"({"f":{"key":{"a":[1]},"b":[{"key":1,"c":2}],"d":{"key":[]}},"key":3})", rules
    );

    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->canonical, R"({"f":{"b":[{"c":2}],"d":{}},"key":3})");
    EXPECT_EQ(boost::json::parse(made->canonical), made->value);
    EXPECT_FALSE(read_document(R"({"f":{"key":1,"key":2}})", rules).has_value());
    EXPECT_FALSE(read_document(R"({"f":{"key":{"a":1,"a":1}}})", rules).has_value());
}

TEST(DocumentReader, LeavesUncountedMembersOutOfTheTextOnly) {
    constexpr std::array<std::string_view, 1> uncounted{"r"};
    document_rules rules;
    rules.uncounted = uncounted;

    const auto made = read_document(R"({"a":1,"r":{"x":[1]},"b":{"r":2}})", rules);

    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->canonical, R"({"a":1,"b":{"r":2}})");
    EXPECT_EQ(boost::json::serialize(made->value), R"({"a":1,"r":{"x":[1]},"b":{"r":2}})");
}

std::string zeros(std::string_view member, std::size_t count) {
    std::string body = "{\"" + std::string(member) + "\":[0";
    for (std::size_t i = 1; i < count; ++i) {
        body += ",0";
    }
    return body + "]}";
}

TEST(DocumentReader, SkipsAByteOrderMark) {
    EXPECT_EQ(canonical("\xEF\xBB\xBF{\"a\":1}"), R"({"a":1})");
    EXPECT_EQ(canonical("\xEF\xBB\xBF\xEF\xBB\xBF{}"), canonical("\xEF\xBB{}"));
    EXPECT_EQ(canonical("\xEF\xBB\xBF"), canonical(""));
}

TEST(DocumentReader, ReadsAnUnpairedSurrogateAsUnknown) {
    const std::string unknown = "\xEF\xBF\xBD";
    EXPECT_EQ(canonical(R"({"a":"cut \ud83d"})"), R"({"a":"cut )" + unknown + R"("})");
    EXPECT_EQ(
        canonical(R"(["\ude00",{"\ud83d":1}])"), "[\"" + unknown + R"(",{")" + unknown + R"(":1}])"
    );
    EXPECT_EQ(canonical(R"(["\ud83d\ude00\ud83d"])"), "[\"\xF0\x9F\x98\x80" + unknown + "\"]");
    EXPECT_EQ(canonical(R"({"a":"cut \ud83d"})"), canonical(R"({"a":"cut \ufffd"})"));
    EXPECT_EQ(canonical(R"(["\\ud83d"])"), R"(["\\ud83d"])");
    // Other faults remain faults.
    EXPECT_THAT(canonical(R"({"a":"\ud83d")"), HasSubstr("not valid JSON"));
    EXPECT_THAT(canonical("[\"\\ud83d\xFF\"]"), HasSubstr("not valid JSON"));
    EXPECT_EQ(path_of(R"({"a":"\ud83d","b":{"x":1,"x":2}})"), "b.x");
}

TEST(DocumentReader, CountsTheMemoryOfTheSecondReading) {
    const std::string rest = std::string(100'000, 'x') + "\"]";
    const auto fits = [](const std::string& text, std::size_t bytes) {
        memory_budget budget(bytes);
        document_rules rules;
        rules.budget = &budget;
        const bool made = read_document(text, rules).has_value();
        EXPECT_EQ(budget.used(), 0U);
        return made;
    };
    std::size_t enough = 32U << 10U;
    while (!fits(R"(["\ufffd)" + rest, enough)) {
        enough += 32U << 10U;
    }
    EXPECT_FALSE(fits(R"(["\ud83d)" + rest, enough));
    EXPECT_TRUE(fits(R"(["\ud83d)" + rest, enough + 2 * rest.size()));
}

TEST(DocumentReader, TakesOfABudgetAndGivesBack) {
    constexpr std::array<std::string_view, 1> built{"state"};
    const std::string unknown = zeros("extra", 500'000); // 1 MB of text.
    const std::string known = zeros("state", 500'000);
    memory_budget budget(4U << 20U);
    document_rules rules;
    rules.built = built;
    rules.budget = &budget;

    EXPECT_TRUE(read_document(unknown, rules).has_value());
    EXPECT_EQ(budget.used(), 0U);
    const auto refused = read_document(known, rules);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, errc::overloaded);
    EXPECT_EQ(budget.used(), 0U);

    memory_budget larger(64U << 20U);
    rules.budget = &larger;
    {
        const auto made = read_document(known, rules);
        ASSERT_TRUE(made.has_value());
        EXPECT_GT(larger.used(), 500'000U * 16) << "the values count as long as they live";
    }
    EXPECT_EQ(larger.used(), 0U);
}

} // namespace
} // namespace agui::translator
