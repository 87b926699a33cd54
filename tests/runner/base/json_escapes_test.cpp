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

std::string replaced(std::string json) {
    const std::string before = json;
    EXPECT_EQ(replace_unpaired_surrogates(json), json != before);
    return json;
}

TEST(JsonUnicode, ReplacesEscapesOfUnpairedSurrogates) {
    EXPECT_EQ(replaced(R"("cut \ud83d")"), R"("cut \ufffd")");
    EXPECT_EQ(replaced(R"("\udE00 left")"), R"("\ufffd left")");
    EXPECT_EQ(replaced(R"("\ude00\ud83d")"), R"("\ufffd\ufffd")");
    EXPECT_EQ(replaced(R"("\ud83d\ud83d\ude00")"), R"("\ufffd\ud83d\ude00")");
    EXPECT_EQ(replaced(R"("\ud83d\n\ude00")"), R"("\ufffd\n\ufffd")");
    EXPECT_EQ(replaced(R"("\ud83dx\ude00")"), R"("\ufffdx\ufffd")");
    EXPECT_EQ(replaced(R"({"\ud83d":["\uDBFF"]})"), R"({"\ufffd":["\ufffd"]})");
}

TEST(JsonUnicode, LeavesEverythingElse) {
    for (const std::string json :
         {R"("\ud83d\ude00")", R"("\\ud83d")", R"("\\\\ud83d")", R"("\u00e9\u0000")", R"("\ud83")",
          R"("\ud83g")", R"("\)", R"(\ud83)", R"("\u+d83d")", "", "{}"}) {
        SCOPED_TRACE(json);
        EXPECT_EQ(replaced(json), json);
    }
    EXPECT_EQ(replaced(R"("\\\ud83d")"), R"("\\\ufffd")");
}

TEST(JsonUnicode, ReplacesBytesThatAreNotUtf8) {
    EXPECT_EQ(with_well_formed_text("\"a\xFF\\ud83d\""), "\"a\xEF\xBF\xBD\\ufffd\"");
    EXPECT_EQ(with_well_formed_text("\"caf\xC3\""), "\"caf\xEF\xBF\xBD\"");
    EXPECT_EQ(with_well_formed_text("\"\xED\xA0\xBD\""), "\"\xEF\xBF\xBD\"");
    EXPECT_EQ(with_well_formed_text("\"gr\xC3\xBC\xC3\x9F\""), "\"gr\xC3\xBC\xC3\x9F\"");
}

} // namespace
} // namespace agui::runner
