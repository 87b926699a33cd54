#include "session/prompt/prompt_template.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace agui::session {
namespace {

constexpr unix_ms some_day = 1'772'357'400'123; // 2026-03-01T09:30:00.123Z

std::string rendered(
    std::string_view text, const prompt_values& values, const std::vector<std::string>& props = {}
) {
    return prompt_template::parse(text, props).value().render(values);
}

std::string problem_of(std::string_view text, const std::vector<std::string>& props = {}) {
    const auto read = prompt_template::parse(text, props);
    if (read) {
        ADD_FAILURE() << "accepted: " << text;
        return {};
    }
    return read.error().detail;
}

TEST(PromptTemplate, PutsEachValueInItsPlace) {
    prompt_values values;
    values.user = "ann";
    values.agent = "helper";
    values.thread = "t1";
    values.time = some_day;

    EXPECT_EQ(
        rendered("{{user}} asks {{ agent }} in {{thread}}, {{date}} ({{time}}).", values),
        "ann asks helper in t1, 2026-03-01 (2026-03-01T09:30:00Z)."
    );
}

TEST(PromptTemplate, ATextWithoutPlaceholdersIsItself) {
    const auto read = prompt_template::parse("Answer as {\"a\":{\"b\":1}}.", {}).value();

    EXPECT_TRUE(read.constant());
    EXPECT_FALSE(read.tells_time());
    EXPECT_EQ(read.render({}), "Answer as {\"a\":{\"b\":1}}.");
    EXPECT_TRUE(prompt_template().constant());
    EXPECT_EQ(prompt_template().render({}), "");
}

TEST(PromptTemplate, FourBracesAreALiteralTwo) {
    prompt_values values;
    values.user = "ann";

    EXPECT_EQ(rendered("{{{{user}} is {{user}}", values), "{{user}} is ann");
    EXPECT_TRUE(prompt_template::parse("{{{{user}}", {}).value().constant());
}

TEST(PromptTemplate, AValueIsNeverReadForPlaceholders) {
    prompt_values values;
    values.user = "{{agent}}{{{{";
    values.agent = "helper";

    EXPECT_EQ(rendered("{{user}}", values), "{{agent}}{{{{");
}

TEST(PromptTemplate, KnowsTheListedPropsAlone) {
    const boost::json::object props{{"locale", "de"}, {"tenant", "x"}, {"level", 3}};
    prompt_values values;
    values.props = &props;

    EXPECT_EQ(rendered("[{{forwardedProps.locale}}]", values, {"locale"}), "[de]");
    EXPECT_EQ(rendered("[{{forwardedProps.level}}]", values, {"level"}), "[]") << "not a text";
    EXPECT_EQ(rendered("[{{forwardedProps.none}}]", values, {"none"}), "[]");
    EXPECT_EQ(rendered("[{{forwardedProps.locale}}]", {}, {"locale"}), "[]");
    EXPECT_EQ(
        problem_of("{{forwardedProps.tenant}}", {"locale"}),
        "holds {{forwardedProps.tenant}}, which is not one of time, date, user, agent, thread, "
        "forwardedProps.locale"
    );
}

TEST(PromptTemplate, AnUnknownNameIsAnError) {
    EXPECT_EQ(
        problem_of("Hello {{usr}}"),
        "holds {{usr}}, which is not one of time, date, user, agent, thread"
    );
}

TEST(PromptTemplate, BracesThatBeginNoPlaceholderAreAnError) {
    for (const char* text :
         {"a\nb {{", "a\n{{user", "a\n{{}}", "a\n{{ }}", "a\n{{{user}}}", "a\n{{us er}}",
          "a\n{{#if user}}", "a\n{{user\n}}"}) {
        EXPECT_EQ(
            problem_of(text),
            "has a {{ in line 2 that does not begin a {{name}} (for a literal {{, write {{{{)"
        ) << text;
    }
}

TEST(PromptTemplate, SaysWhetherItTellsTheTime) {
    EXPECT_TRUE(prompt_template::parse("{{time}}", {}).value().tells_time());
    EXPECT_TRUE(prompt_template::parse("{{date}}", {}).value().tells_time());
    EXPECT_FALSE(prompt_template::parse("{{user}}", {}).value().tells_time());
    EXPECT_FALSE(prompt_template::parse("{{user}}", {}).value().constant());
}

TEST(PromptTemplate, TimesBeforeTheEpochAreTimesToo) {
    prompt_values values;
    values.time = -1;
    EXPECT_EQ(rendered("{{time}}", values), "1969-12-31T23:59:59Z");
}

TEST(PromptValue, HasNoLineOfItsOwn) {
    EXPECT_EQ(prompt_value("a\nb\r\n\tc"), "a b   c");
    EXPECT_EQ(prompt_value(std::string_view("a\0b\x1b[0m\x7f", 8)), "a b [0m ");
    EXPECT_EQ(
        prompt_value("a\xc2\x85"
                     "b\xe2\x80\xa8"
                     "c\xe2\x80\xa9"
                     "d"),
        "a b c d"
    );
    EXPECT_EQ(prompt_value("a\xc2\xa0\xc3\xa4\xe2\x82\xac"), "a\xc2\xa0\xc3\xa4\xe2\x82\xac");
}

TEST(PromptValue, IsCutBetweenCharacters) {
    EXPECT_EQ(prompt_value(std::string(5000, 'a')), std::string(prompt_value_max, 'a'));
    const std::string odd = std::string(prompt_value_max - 1, 'a');
    EXPECT_EQ(prompt_value(odd + "\xc3\xa4"), odd);
    EXPECT_EQ(prompt_value(odd + "\n\n\n"), odd + " ");
    EXPECT_EQ(prompt_value(odd + "b\n"), odd + "b");
}

} // namespace
} // namespace agui::session
