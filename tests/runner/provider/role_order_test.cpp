#include "runner/provider/role_order.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace agui::runner {
namespace {

using session::message;
using session::role;
using lines = std::vector<std::string>;

message said(role who, std::string text) {
    message made;
    made.role = who;
    made.content = std::move(text);
    return made;
}

message user(std::string text) { return said(role::user, std::move(text)); }

message user_parts(std::string_view parts) {
    message made;
    made.content = boost::json::parse(parts).as_array();
    return made;
}

lines ordered(const std::vector<message>& given, role_order order) {
    lines list;
    const ordered_messages made(given, order);
    for (const message* const each : made.list()) {
        const auto* const parts = std::get_if<boost::json::array>(&each->content);
        list.push_back(
            std::string(to_string(each->role)) + ": " +
            (parts != nullptr ? boost::json::serialize(*parts) : session::text_of(each->content))
        );
    }
    return list;
}

constexpr role_order any_order{};
constexpr role_order merged{.merges_rows = true};
constexpr role_order strict{.begins_with_user = true, .answers_results = true};

constexpr role_order separated{.merges_rows = true, .separates_answers = true};

const std::string begins = "user: (The conversation begins.)";
const std::string answers = "assistant: Understood.";

TEST(RoleOrder, WithoutDemandsIsThatOfTheHistory) {
    const std::vector<message> given = {
        said(role::assistant, "Hi"), user(""),      user("two"), said(role::assistant, ""),
        said(role::tool, ""),        user("three"), user(" ")
    };

    const ordered_messages made(given, any_order);

    ASSERT_EQ(made.list().size(), given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
        EXPECT_EQ(made.list()[i], &given[i]) << "no copy";
    }
}

TEST(RoleOrder, HasNothingThatIsNotForModelsAndNoBlankSystemText) {
    EXPECT_EQ(
        ordered(
            {said(role::system, " \n"), said(role::developer, ""), said(role::system, "s"),
             said(role::activity, "busy"), said(role::reasoning, "hm"), user("u")},
            any_order
        ),
        (lines{"system: s", "reasoning: hm", "user: u"})
    );
}

TEST(RoleOrder, UserMessagesInARowBecomeOne) {
    EXPECT_EQ(
        ordered(
            {user("one"), said(role::activity, "busy"), said(role::reasoning, "hm"), user("two"),
             user("three"), said(role::assistant, "yes"), user("four")},
            merged
        ),
        (lines{"reasoning: hm", "user: one\n\ntwo\n\nthree", "assistant: yes", "user: four"})
    );
    EXPECT_EQ(
        ordered({user("one"), user_parts(R"([{"type":"image"}])"), user("two")}, merged),
        lines{
            R"(user: [{"type":"text","text":"one"},{"type":"image"},{"type":"text","text":"two"}])"
        }
    );
}

TEST(RoleOrder, AssistantMessagesInARowBecomeOne) {
    message call = said(role::assistant, "Let me look.");
    call.tool_calls.push_back({"c1", "f", "{}", {}, {}});
    const std::vector<message> given = {
        said(role::assistant, "Hi"), said(role::reasoning, "hm"), call, said(role::tool, "1")
    };

    EXPECT_EQ(
        ordered(given, merged), (lines{"reasoning: hm", "assistant: Hi\n\nLet me look.", "tool: 1"})
    );
    const ordered_messages made(given, merged);
    EXPECT_EQ(made.list().at(1)->tool_calls, call.tool_calls);

    EXPECT_EQ(
        ordered({user("u"), said(role::assistant, "one"), said(role::assistant, "two")}, strict),
        (lines{"user: u", "assistant: one", "assistant: two"})
    );
}

TEST(RoleOrder, BlankUserMessagesAddNothingToOthers) {
    EXPECT_EQ(ordered({user("one"), user(" "), user("two")}, merged), lines{"user: one\n\ntwo"});
    EXPECT_EQ(ordered({user(""), user("two"), user("\n")}, merged), lines{"user: two"});
    EXPECT_EQ(
        ordered({user_parts(R"([{"type":"text","text":" "}])"), user("two")}, merged),
        lines{"user: two"}
    );
    EXPECT_EQ(ordered({user(""), user(" ")}, merged), lines{"user:  "}) << "one of them";
}

TEST(RoleOrder, TheFirstMessageIsTheUsersWhereAsked) {
    EXPECT_EQ(
        ordered({said(role::assistant, "Hi"), user("u")}, strict),
        (lines{begins, "assistant: Hi", "user: u"})
    );
    EXPECT_EQ(
        ordered({said(role::system, "s"), said(role::assistant, "Hi")}, strict),
        (lines{"system: s", begins, "assistant: Hi"})
    );
    EXPECT_EQ(
        ordered({said(role::tool, "lost"), user("u")}, strict),
        (lines{begins, "tool: lost", answers, "user: u"})
    );
    EXPECT_EQ(
        ordered({said(role::system, "s"), user("u")}, strict), (lines{"system: s", "user: u"})
    );
    EXPECT_EQ(
        ordered({user("u"), said(role::system, "s")}, strict), (lines{"user: u", "system: s"})
    );
    EXPECT_TRUE(ordered({}, strict).empty());
}

TEST(RoleOrder, OnlyAnAssistantMessageFollowsResultsWhereAsked) {
    EXPECT_EQ(
        ordered(
            {user("u"), said(role::assistant, ""), said(role::tool, "1"), said(role::tool, "2"),
             said(role::reasoning, "hm"), user("no")},
            strict
        ),
        (lines{"user: u", "assistant: ", "tool: 1", "tool: 2", "reasoning: hm", answers, "user: no"}
        )
    );
    EXPECT_EQ(
        ordered({user("u"), said(role::tool, "1"), said(role::system, "s"), user("no")}, strict),
        (lines{"user: u", "tool: 1", answers, "system: s", "user: no"})
    );
    EXPECT_EQ(
        ordered(
            {user("u"), said(role::tool, "1"), said(role::assistant, "done"), user("v")}, strict
        ),
        (lines{"user: u", "tool: 1", "assistant: done", "user: v"})
    );
    EXPECT_EQ(ordered({user("u"), said(role::tool, "1")}, strict), (lines{"user: u", "tool: 1"}));
}

TEST(RoleOrder, TheUserSpeaksAfterAnAnswerWhereAsked) {
    std::vector<message> given = {
        user("u"), said(role::assistant, "one"), said(role::reasoning, "hm"),
        said(role::assistant, "two")
    };
    given.back().origin = std::make_shared<const session::turn_origin>();
    const std::string more = "user: (Continue.)";
    const lines whole = ordered(given, separated);
    EXPECT_EQ(
        whole, (lines{"user: u", "assistant: one", "reasoning: hm", more, "assistant: two", more})
    );
    EXPECT_EQ(ordered({given.begin(), given.begin() + 2}, separated).back(), more);
    EXPECT_EQ(
        ordered({user("u"), said(role::assistant, "one"), user("v")}, separated),
        (lines{"user: u", "assistant: one", "user: v"})
    );
    given.back().origin = nullptr;
    EXPECT_EQ(
        ordered(given, separated),
        (lines{"user: u", "reasoning: hm", "assistant: one\n\ntwo", more})
    ) << "another model, or a client, made the second one";
}

TEST(RoleOrder, APluginsAnswerIsAPartOfTheOneNextToIt) {
    message added = said(role::assistant, "Note.");
    added.by_plugin = true;
    EXPECT_EQ(
        ordered({user("u"), said(role::assistant, "one"), added}, separated),
        (lines{"user: u", "assistant: one\n\nNote."})
    );
    EXPECT_EQ(
        ordered({user("u"), added, said(role::assistant, "one"), user("v")}, separated),
        (lines{"user: u", "assistant: Note.\n\none", "user: v"})
    );
}

TEST(RoleOrder, NothingStandsBetweenACallAndItsResult) {
    message call = said(role::assistant, "");
    call.tool_calls.push_back({"c1", "f", "{}", {}, {}});
    EXPECT_EQ(ordered({call}, separated), lines{"assistant: "});
}

TEST(RoleOrder, AHistoryThatGrowsGivesAListThatGrows) {
    const std::vector<message> whole = {
        said(role::assistant, "Hi"), user("u"), said(role::assistant, ""),
        said(role::tool, "1"),       user(""),  user("no"),
        said(role::assistant, "ok"), user("v")
    };
    const lines last = ordered(whole, strict);
    for (std::size_t count = 0; count < whole.size(); ++count) {
        const lines earlier =
            ordered({whole.begin(), whole.begin() + std::ptrdiff_t(count)}, strict);
        ASSERT_LE(earlier.size(), last.size());
        EXPECT_EQ(earlier, lines(last.begin(), last.begin() + std::ptrdiff_t(earlier.size())));
    }
}

} // namespace
} // namespace agui::runner
