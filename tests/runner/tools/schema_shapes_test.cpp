// Counts the work of a schema and of a check, with the worst known shapes of 100 KB and with
// floods.

#include "tests/runner/tools/schema_shapes.hpp"

#include "runner/tools/argument_schema.hpp"
#include "runner/tools/check_budget.hpp"
#include "session/base/work_count.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <string>

namespace agui::test {
namespace {

#ifdef AGUI_VERIFY_EVENTS

boost::json::value parsed(const std::string& text) {
    boost::json::parse_options options;
    options.max_depth = 1000;
    return boost::json::parse(text, {}, options);
}

// Counted in units of check_budget.
std::uint64_t work_of(const schema_texts& texts) {
    const auto schema = runner::compile_argument_schema(parsed(texts.schema));
    EXPECT_TRUE(schema) << (schema ? "" : schema.error().detail);
    if (!schema) {
        return 0;
    }
    boost::json::object arguments = parsed(texts.arguments).as_object();
    const std::uint64_t before = work_done;
    runner::check_budget budget;
    static_cast<void>((*schema)->fit(arguments, budget));
    return work_done - before;
}

class SchemaShape : public ::testing::TestWithParam<schema_shape> {};

TEST_P(SchemaShape, Of100KilobytesCostsLessThanTheBudget) {
    const schema_shape& shape = GetParam();

    EXPECT_LE(work_of(texts_of(shape, size_within(shape, 100'000))), runner::max_check_units);
}

INSTANTIATE_TEST_SUITE_P(
    Worst, SchemaShape, ::testing::ValuesIn(worst_schema_shapes()),
    [](const ::testing::TestParamInfo<schema_shape>& info) {
        std::string name;
        for (const char c : info.param.name) {
            name.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_');
        }
        return name;
    }
);

std::string repeated(const std::string& text, int count) {
    std::string all = text;
    for (int i = 1; i < count; ++i) {
        all += "," + text;
    }
    return all;
}

// The length of neither list may multiply the other's.
TEST(SchemaFlood, RequiredNamesOfEmptyObjectsCostLittle) {
    std::string names = "\"a\"";
    for (int i = 0; i < 6000; ++i) {
        names += ",\"name" + std::to_string(i) + "\"";
    }

    EXPECT_LE(
        work_of(
            {R"({"properties":{"list":{"items":{"required":[)" + names + "]}}}}",
             R"({"list":[)" + repeated("{}", 30'000) + "]}"}
        ),
        20'000U
    );
}

TEST(SchemaFlood, ManyNumbersOfEnumCostLittle) {
    std::string numbers = "1";
    for (int i = 0; i < 9000; ++i) {
        numbers += "," + std::to_string(100 + i);
    }

    EXPECT_LE(
        work_of(
            {R"({"properties":{"list":{"items":{"enum":[)" + numbers + "]}}}}",
             R"({"list":[)" + repeated("1", 9000) + "]}"}
        ),
        80'000U
    );
}

// Each text goes up the path, so nested alternatives are not all described.
TEST(SchemaFlood, AlternativesWithinAlternativesAreNotAllTold) {
    std::string definitions;
    for (int i = 0; i < 9; ++i) {
        const std::string next = R"({"$ref":"#/definitions/a)" + std::to_string(i + 1) + "\"}";
        definitions += "\"a" + std::to_string(i) + R"(":{"anyOf":[)" + repeated(next, 3) + "]},";
    }
    std::string arguments = R"({"x":1})";
    for (int i = 0; i < 200; ++i) {
        arguments = R"({"next":)" + arguments + "}";
    }
    // The values are checked twice, with and without the null member; a text costs 100 units.
    EXPECT_LE(
        work_of(
            {R"({"properties":{"next":{"$ref":"#"},"x":{"$ref":"#/definitions/a0"}},"definitions":{)" +
                 definitions + R"("a9":{"type":"null"}}})",
             arguments}
        ),
        250'000U
    );
}

TEST(SchemaFlood, AViolationInWordsHasItsPrice) {
    const schema_texts wrong{R"({"properties":{"x":{"type":"null"}}})", R"({"x":1})"};

    EXPECT_GE(work_of(wrong), 100U);
}

#endif

} // namespace
} // namespace agui::test
