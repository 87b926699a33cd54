#include "runner/base/json_escapes.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {
namespace {

TEST(EscapeMender, ReplacesUnpairedSurrogatesWhereverTheTextIsCut) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {R"(plain)", R"(plain)"},
        {R"(\ud83d\ude00)", R"(\ud83d\ude00)"},
        {R"(a\uD83Db)", R"(a\ufffdb)"},
        {R"(\ude00)", R"(\ufffd)"},
        {R"(\ud83d\ud83d\ude00)", R"(\ufffd\ud83d\ude00)"},
        {R"(\ud83d\u00e9)", R"(\ufffd\u00e9)"},
        {R"(\ud83d\n)", R"(\ufffd\n)"},
        {R"(\\ud83d)", R"(\\ud83d)"},
        {R"(\\\ud83d)", R"(\\\ufffd)"},
        {R"(end\ud83d)", R"(end\ufffd)"},
        {R"(end\ud83d\ud)", R"(end\ufffd\ud)"},
        {R"(end\ud8)", R"(end\ud8)"},
        {R"(end\)", R"(end\)"},
        {R"(\uzzzz\u12)", R"(\uzzzz\u12)"},
    };
    for (const auto& [text, expected] : cases) {
        for (std::size_t first = 0; first <= text.size(); ++first) {
            SCOPED_TRACE(std::string(text) + " cut at " + std::to_string(first));
            escape_mender mender;
            std::string out;
            std::string whole(mender.mend(text.substr(0, first), out));
            whole += mender.mend(text.substr(first), out);
            whole += mender.finish();
            EXPECT_EQ(whole, expected);
        }
    }
}

TEST(EscapeMender, PassesPlainTextOnWithoutACopy) {
    const std::string_view text = R"({"a":"b\n"})";
    escape_mender mender;
    std::string out;

    EXPECT_EQ(mender.mend(text, out).data(), text.data());
}

} // namespace
} // namespace agui::runner
