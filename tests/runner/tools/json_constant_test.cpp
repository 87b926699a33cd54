#include "runner/tools/json_constant.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {
namespace {

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

std::optional<std::string> text_of(
    std::string_view value, std::size_t max_bytes = no_limit, std::size_t units = no_limit,
    null_members nulls = null_members::are_values
) {
    check_budget budget(units);
    return constant_text(boost::json::parse(value), max_bytes, nulls, budget);
}

TEST(JsonConstant, EqualValuesHaveOneText) {
    EXPECT_EQ(text_of("5"), text_of("5.0"));
    EXPECT_EQ(text_of("-0.0"), text_of("0"));
    EXPECT_EQ(text_of("18446744073709551615").value(), "n18446744073709551615;");
    EXPECT_EQ(text_of("9223372036854775808"), text_of("9223372036854775808.0"));
    EXPECT_EQ(text_of(R"({"a":1,"b":{"c":2,"d":3}})"), text_of(R"({"b":{"d":3,"c":2},"a":1})"));
}

TEST(JsonConstant, OtherValuesHaveOtherTexts) {
    constexpr std::string_view values[] = {
        "null",         "true",  "false",      "0",       "1",          "11",
        "0.5",          "1e300", "\"\"",       "\"0\"",   "\"n1;\"",    "[]",
        "[[]]",         "[0]",   "[1,1]",      "[11]",    R"(["a"])",   R"(["a","b"])",
        R"(["as1:b"])", "{}",    R"({"a":1})", R"([{}])", R"({"b":1})", R"({"a":null})",
    };
    for (const std::string_view one : values) {
        for (const std::string_view other : values) {
            EXPECT_EQ(text_of(one) == text_of(other), one == other) << one << " and " << other;
        }
    }
}

TEST(JsonConstant, NullMembersMayBeAbsent) {
    EXPECT_EQ(
        text_of(R"({"a":null,"b":[null]})", no_limit, no_limit, null_members::are_absent),
        text_of(R"({"b":[null]})")
    );
}

TEST(JsonConstant, EndsAtTheLimits) {
    const std::string text = text_of(R"(["ab",{"c":1}])").value();
    EXPECT_EQ(text_of(R"(["ab",{"c":1}])", text.size()), text);
    EXPECT_EQ(text_of(R"(["ab",{"c":1}])", text.size() - 1), std::nullopt);
    EXPECT_EQ(text_of("\"" + std::string(100'000, 'x') + "\"", 10, 2), std::nullopt);
    EXPECT_THROW(static_cast<void>(text_of("[1,2,3]", no_limit, 3)), too_much_work);

    std::string deep(66, '['); // The innermost array is within 65 others.
    deep.append(66, ']');
    boost::json::parse_options options;
    options.max_depth = 100;
    check_budget budget(no_limit);
    EXPECT_EQ(
        constant_text(
            boost::json::parse(deep, {}, options), no_limit, null_members::are_values, budget
        ),
        std::nullopt
    ) << "deeper than 64";
}

} // namespace
} // namespace agui::runner
