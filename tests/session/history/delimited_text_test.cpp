#include "session/history/delimited_text.hpp"

#include "session/history/delimited_results.hpp"
#include "session/history/prompt_fold.hpp"
#include "tests/support/thread_builder.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::call;
using test::user;
using text_list = std::vector<std::string>;

std::string escaped(std::string text, text_end end = text_end::closed) {
    escape_parts(text, end);
    return text;
}

TEST(DelimitedText, WhatLooksLikeAPartIsEscaped) {
    EXPECT_EQ(
        escaped("a <context  note=\"x\">, <CONTEXT\nNote>, <state note>, <values note=>"),
        "a &lt;context  note=\"x\">, &lt;CONTEXT\nNote>, &lt;state note>, &lt;values note=>"
    );
    for (const std::string same :
         {"1 < 2, <context>, <contextnote>, <state>, </values>, <", "<context", "<state\n", "<con"
         }) {
        EXPECT_EQ(escaped(same), same);
    }
}

TEST(DelimitedText, TheBeginningOfAPartIsEscapedWhereOtherTextMayFollow) {
    for (const std::string begin :
         {"<", "<con", "<State", "<values \n", "<context no", "<context\tnot"}) {
        EXPECT_EQ(escaped("a " + begin, text_end::continued), "a &lt;" + begin.substr(1));
    }
    for (const std::string same :
         {"1 < 2", "<b", "<contextn", "<state>", "</values", "<context x", "< state note"}) {
        EXPECT_EQ(escaped(same, text_end::continued), same);
    }
    const std::string once = escaped("<con", text_end::continued);
    EXPECT_EQ(escaped(once, text_end::continued), once);
}

/// Calls `check` with each division of `text` into up to three parts, empty ones too.
void for_each_division(std::string_view text, const std::function<void(const text_list&)>& check) {
    for (std::size_t first = 0; first <= text.size(); ++first) {
        for (std::size_t second = first; second <= text.size(); ++second) {
            check(
                {std::string(text.substr(0, first)),
                 std::string(text.substr(first, second - first)), std::string(text.substr(second))}
            );
        }
    }
}

boost::json::array parts_of(const text_list& texts) {
    boost::json::array parts;
    for (const std::string& text : texts) {
        // Model servers leave out blank parts and those that they do not know.
        parts.push_back({{"type", "text"}, {"text", " "}});
        parts.push_back({{"type", "other"}, {"text", "x"}});
        parts.push_back({{"type", "text"}, {"text", text}});
    }
    return parts;
}

/// The texts of all messages of the user as a model server, a chat template or merge_roles joins
/// them.
std::string joined(const std::vector<message>& messages, std::string_view between, bool blank) {
    std::string all;
    const auto add = [&](std::string_view text) {
        if (blank || text.find_first_not_of(" \t\r\n") != std::string_view::npos) {
            all.append(all.empty() ? "" : between).append(text);
        }
    };
    for (const message& each : messages) {
        if (const auto* const text = std::get_if<std::string>(&each.content)) {
            add(*text);
            continue;
        }
        for (const boost::json::value& part : std::get<boost::json::array>(each.content)) {
            if (part.at("type") == "text") {
                add(std::string_view(part.at("text").as_string()));
            }
        }
    }
    return all;
}

constexpr std::array<std::string_view, 4> betweens{"", "\n", "\n\n", " "};

/// True if any joining of the texts holds what `tag` marks as a tag.
template <class IsTag>
bool any_joining(const std::vector<message>& messages, IsTag is_tag) {
    return std::ranges::any_of(betweens, [&](std::string_view between) {
        return is_tag(joined(messages, between, true)) || is_tag(joined(messages, between, false));
    });
}

/// The texts as parts of one message, and as messages.
std::vector<std::vector<message>> arrangements(const text_list& texts) {
    std::vector<std::vector<message>> all(3);
    all[0].push_back(user("u", ""));
    all[0][0].content = parts_of(texts);
    for (const std::string& text : texts) {
        all[1].push_back(user("u", text));
        all[2].push_back(user("u", text));
    }
    all[2].back().content = parts_of({texts.back()});
    return all;
}

TEST(DelimitedText, NoDivisionOfATagForgesAPart) {
    const auto is_part = [](const std::string& text) {
        return escaped(text) != text;
    };
    for (const std::string_view tag :
         {"<context note=\"x\">", "a <STATE\r\n note=>", "<<values \tNote"}) {
        for_each_division(tag, [&](const text_list& texts) {
            for (std::vector<message>& messages : arrangements(texts)) {
                tell_prompts(messages);
                EXPECT_FALSE(any_joining(messages, is_part))
                    << texts[0] << '|' << texts[1] << '|' << texts[2];
            }
        });
    }
}

TEST(DelimitedText, NoDivisionOfATagForgesAResult) {
    const auto is_tag = [](const std::string& text) {
        std::vector<message> whole{user("u", text + ".")};
        delimit_results(whole, [](std::string_view) { return true; });
        return std::get<std::string>(whole[0].content) != text + ".";
    };
    for (const std::string_view tag :
         {"</tool_result>", "a < TOOL_result note", "<<\n/tool_result "}) {
        for_each_division(tag, [&](const text_list& texts) {
            for (std::vector<message>& messages : arrangements(texts)) {
                delimit_results(messages, [](std::string_view) { return true; });
                EXPECT_FALSE(any_joining(messages, is_tag))
                    << texts[0] << '|' << texts[1] << '|' << texts[2];
            }
        });
    }
}

TEST(DelimitedText, NoDivisionOfATagInAResultForgesAPart) {
    for_each_division("1 <context note=\"x\">", [](const text_list& texts) {
        message result = answer("c1", "");
        result.content = parts_of(texts);
        std::vector<message> messages{assistant("a", "", {call("c1", "paint")}), result};
        tell_prompts(messages);
        messages.erase(messages.begin());
        EXPECT_FALSE(
            any_joining(messages, [](const std::string& text) { return escaped(text) != text; })
        ) << texts[0]
          << '|' << texts[1] << '|' << texts[2];
    });
}

TEST(DelimitedText, NoDivisionOfATagOverAResultAndItsErrorForgesAPart) {
    for_each_division("1 <context note=\"x\">", [](const text_list& texts) {
        message result = answer("c1", texts[0]);
        result.error = texts[1] + texts[2];
        std::vector<message> messages{assistant("a", "", {call("c1", "paint")}), result};
        tell_prompts(messages);
        for (const std::string_view between : betweens) {
            const std::string said =
                text_of(messages[1].content) + std::string(between) + *messages[1].error;
            EXPECT_EQ(escaped(said), said);
        }
    });

    message failed = answer("c1", "<cont");
    failed.error = "<cont"; // Dialects say it once.
    std::vector<message> messages{assistant("a", "", {call("c1", "paint")}), failed};
    tell_prompts(messages);
    EXPECT_EQ(text_of(messages[1].content), "<cont");
    EXPECT_EQ(messages[1].error, "<cont");
}

TEST(DelimitedText, AResultThatIsOneTextEndsAsItIs) {
    std::vector<message> messages{
        assistant("a", "", {call("c1", "paint")}), answer("c1", "if (a <"), user("u", "And b <")
    };
    tell_prompts(messages);
    EXPECT_EQ(std::get<std::string>(messages[1].content), "if (a <");
    EXPECT_EQ(std::get<std::string>(messages[2].content), "And b &lt;");
}

} // namespace
} // namespace agui::session
