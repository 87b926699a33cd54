#include "session/base/finite_json.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui::session {
namespace {

TEST(FiniteJson, ArgumentsAreAnObjectIfTheyCanBeReadAsOne) {
    const std::string deep =
        std::string(R"({"a":)") + std::string(255, '[') + std::string(255, ']') + "}";
    const std::string deeper =
        std::string(R"({"a":)") + std::string(256, '[') + std::string(256, ']') + "}";
    const std::string_view texts[] = {
        "{}",
        " {\"a\":1e308} ",
        "{\"a\":[{\"b\":null}]}",
        "{\"a\":1,\"a\":2}",
        deep,
        "",
        " ",
        "[]",
        "1",
        "{",
        "{}{}",
        "{\"a\":1e999}",
        "{\"a\":[-1e999]}",
        "{\"a\":\"\xff\"}",
        deeper,
    };
    for (const std::string_view text : texts) {
        const auto parsed = parse_arguments(text);
        EXPECT_EQ(is_arguments_object(text), parsed && parsed->is_object()) << text;
    }
    EXPECT_TRUE(is_arguments_object(deep));
    EXPECT_FALSE(is_arguments_object(deeper));
    EXPECT_FALSE(is_arguments_object("{\"a\":1e999}"));
}

} // namespace
} // namespace agui::session
