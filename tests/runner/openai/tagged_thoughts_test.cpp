#include "runner/openai/tagged_thoughts.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace agui::runner {
namespace {

struct tagged_case {
    const char* name;
    std::string_view tag;
    std::string answer;
    std::string thoughts;
    std::string text;
};

void PrintTo(const tagged_case& value, std::ostream* out) { *out << value.name; }

const tagged_case cases[] = {
    {"Thoughts", "<think>", "<think>\nhm, well\n</think>\n\nHello", "hm, well", "Hello"},
    {"NoLineEnds", "<think>", "<think>hm</think>Hello", "hm", "Hello"},
    {"ABlankBeforeTheTag", "<think>", " \n<think>hm</think> Hello", "hm", "Hello"},
    {"LineEndsWithin", "<think>", "<think>a\n\nb\n \nc</think>x", "a\n\nb\n \nc", "x"},
    {"NothingThought", "<think>", "<think>\n\n</think>\n\nHello", "", "Hello"},
    {"NothingSaid", "<think>", "<think>hm</think>\n\n", "hm", ""},
    {"NoTag", "<think>", "  Hello\n", "", "  Hello\n"},
    {"OnlyBlanks", "<think>", " \n", "", " \n"},
    {"TheBeginOfATag", "<think>", "<thi", "", "<thi"},
    {"AnotherTag", "<think>", "<thinker>hm</thinker>", "", "<thinker>hm</thinker>"},
    {"ATagLater", "<think>", "Use <think>hm</think>.", "", "Use <think>hm</think>."},
    {"ATagAfterTheThoughts", "<think>", "<think>a</think><think>b</think>", "a", "<think>b</think>"
    },
    {"LikeAClosingTag", "<think>", "<think>a </thin </<</think>b", "a </thin </<", "b"},
    {"NoClosingTag", "<think>", "<think>hm\n", "hm", ""},
    {"HalfAClosingTag", "<think>", "<think>hm </thi", "hm </thi", ""},
    {"OtherNames", "[THINK]", "[THINK]hm[/THINK]Hello", "hm", "Hello"},
    {"PromptHoldsTheOpeningTag", "</think>", "the user\n greets\n</think>\n\nHello",
     "the user\n greets", "Hello"},
    {"AnOpeningTagAllTheSame", "</think>", "\n<think>\nhm</think>Hello", "hm", "Hello"},
    {"LikeAnOpeningTag", "</think>", "<thin ice</think>Hello", "<thin ice", "Hello"},
    {"OnlyTheClosingTag", "</think>", "\n</think>\n\nHello", "", "Hello"},
    {"NeverClosed", "</think>", " the user", "the user", ""},
    {"NoSetting", "", "<think>hm</think>Hello", "", "<think>hm</think>Hello"},
};

class TaggedThoughtsCases : public ::testing::TestWithParam<tagged_case> {
protected:
    /// Feeds the answer in pieces of these lengths, the second one without end.
    static void check(std::size_t first, std::size_t then) {
        const tagged_case& param = GetParam();
        tagged_thoughts tags(param.tag);
        std::string thoughts;
        std::string text;
        std::string_view rest = param.answer;
        for (std::size_t length = first; !rest.empty(); length = then) {
            const std::string_view piece = rest.substr(0, length);
            rest.remove_prefix(piece.size());
            const bool said = !text.empty();
            std::string more;
            tags.feed(piece, more, text);
            EXPECT_FALSE(said && !more.empty()) << "thoughts after the text";
            thoughts += more;
        }
        tags.finish(thoughts, text);

        EXPECT_EQ(thoughts, param.thoughts);
        EXPECT_EQ(text, param.text);
    }
};

TEST_P(TaggedThoughtsCases, CutAnywhere) {
    const std::size_t whole = GetParam().answer.size();
    for (std::size_t first = 1; first <= whole; ++first) {
        SCOPED_TRACE(first);
        check(first, whole);
        check(first, 1);
    }
}

INSTANTIATE_TEST_SUITE_P(
    TaggedThoughts, TaggedThoughtsCases, ::testing::ValuesIn(cases),
    [](const auto& param) { return std::string(param.param.name); }
);

TEST(TaggedThoughts, PassesThoughtsOnAsTheyCome) {
    tagged_thoughts tags("<think>");
    std::string thoughts;
    std::string text;

    tags.feed("<think>one two ", thoughts, text);
    EXPECT_EQ(thoughts, "one two");
    EXPECT_FALSE(tags.done());
    tags.feed("three</think>x", thoughts, text);
    EXPECT_EQ(thoughts, "one two three");
    EXPECT_EQ(text, "x");
    EXPECT_TRUE(tags.done());
}

TEST(TaggedThoughts, HoldsBlanksOnlySoLong) {
    const std::string blanks(1000, ' ');
    std::string thoughts;
    std::string text;
    tagged_thoughts before("<think>");
    before.feed(blanks, thoughts, text);
    EXPECT_EQ(text, blanks);

    tagged_thoughts within("<think>");
    within.feed("<think>a" + blanks, thoughts, text);
    EXPECT_EQ(thoughts, "a" + blanks);
}

TEST(TaggedThoughts, ACallMeansThatNoTagCame) {
    std::string thoughts;
    std::string text;
    tagged_thoughts tags("<think>");
    tags.feed("\n<th", thoughts, text);
    EXPECT_EQ(text, "");

    tags.interrupt(text);

    EXPECT_EQ(text, "\n<th");
    EXPECT_TRUE(tags.done());
}

TEST(TaggedThoughts, KnowsATag) {
    for (const std::string_view tag :
         {"<think>", "</think>", "<seed:think>", "[THINK]", "[/THINK]", "<|inner_thought|>"}) {
        SCOPED_TRACE(tag);
        EXPECT_TRUE(is_reasoning_tag(tag));
    }
    for (const std::string_view tag :
         {"", "think", "<think", "<>", "</>", "<a b>", "<think>]", "[think>", "<think><x>",
          "<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa>"}) {
        SCOPED_TRACE(tag);
        EXPECT_FALSE(is_reasoning_tag(tag));
    }
    EXPECT_EQ(opening_tag("</think>"), "<think>");
    EXPECT_EQ(closing_tag("[THINK]"), "[/THINK]");
}

} // namespace
} // namespace agui::runner
