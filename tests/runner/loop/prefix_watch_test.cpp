#include "runner/loop/prefix_watch.hpp"

#include "session/conversation/prompt_record.hpp"
#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

using session::message;
using session::thread_key;

const thread_key thread{"", "t"};

struct asked {
    std::string instructions = "Be brief.";
    std::vector<tool_definition> tools = {{"paint", "", {}}};
    std::vector<message> messages = {test::user("u1", "Hi")};
    std::string model = "m";
    bool adds_tools = false;

    request_parts parts() {
        model_request request;
        request.adds_tools = adds_tools;
        request.parameters.model = model;
        request.instructions = instructions;
        request.tools = &tools;
        request.messages = &messages;
        return parts_of(request);
    }
};

std::string broken(prefix_watch& watch, asked now, const break_causes& causes = {}) {
    const auto found = watch.add(thread, now.parts(), causes);
    return found ? std::string(found->reason) + " " + found->element : "";
}

asked longer() {
    asked made;
    made.messages.push_back(test::assistant("a1", "Hello"));
    made.tools.push_back({"scroll", "", {}});
    return made;
}

TEST(PrefixWatch, ARequestMayGoOn) {
    prefix_watch watch;
    EXPECT_EQ(broken(watch, asked()), "") << "there is none before it";
    EXPECT_EQ(broken(watch, longer()), "");
}

TEST(PrefixWatch, FindsTheFirstElementThatDiffers) {
    asked instructed = longer();
    instructed.instructions = "Be verbose.";
    asked tooled = longer();
    tooled.tools[0].description = "Paints.";
    asked edited = longer();
    edited.messages[1].content = std::string("Good day");
    for (const auto& [now, expected] :
         {std::pair(instructed, "instructions system"), std::pair(tooled, "tools tools[0]"),
          std::pair(edited, "unknown messages[1]"), std::pair(asked(), "tools tools[1]")}) {
        prefix_watch watch;
        (void)broken(watch, longer());
        EXPECT_EQ(broken(watch, now), expected);
    }
}

TEST(PrefixWatch, TheReasonIsThatOfTheCircumstances) {
    asked edited = longer();
    edited.messages.pop_back();
    asked other = longer();
    other.model = "n";
    for (const auto& [causes, expected] :
         {std::pair(break_causes{.other_branch = true, .window = true}, "edit messages[1]"),
          std::pair(break_causes{.window = true}, "window messages[1]"),
          std::pair(break_causes{.plugin = true}, "plugin messages[1]")}) {
        prefix_watch watch;
        (void)broken(watch, longer());
        EXPECT_EQ(broken(watch, edited, causes), expected);
    }
    prefix_watch watch;
    (void)broken(watch, longer());
    EXPECT_EQ(broken(watch, other), "model model");
}

TEST(PrefixWatch, ARefusedRequestDoesNotCount) {
    prefix_watch watch;
    asked refused = longer();
    refused.instructions = "Nonsense";
    (void)broken(watch, asked());
    EXPECT_EQ(broken(watch, refused), "instructions system");
    watch.refused(thread);

    EXPECT_EQ(broken(watch, longer()), "");
}

// A run of several requests: the refusal of one is a reason to leave out what all of them hold.
TEST(PrefixWatch, WhatIsLeftOutAfterARefusalIsNoDefect) {
    prefix_watch watch;
    asked other = longer();
    other.messages.front() = test::user("u1", "[left out]");
    (void)broken(watch, asked());
    (void)broken(watch, longer());
    watch.refused(thread);

    EXPECT_EQ(broken(watch, other), "refused messages[0]");
    EXPECT_EQ(broken(watch, longer()), "unknown messages[0]");
}

TEST(PrefixWatch, ForgetsTheThreadsThatAskedFirst) {
    prefix_watch watch(150);
    (void)watch.add({"", "a"}, asked().parts(), {});
    (void)watch.add({"", "b"}, asked().parts(), {});
    (void)watch.add({"", "c"}, asked().parts(), {});

    EXPECT_FALSE(watch.last_tip({"", "a"}));
    EXPECT_TRUE(watch.last_tip({"", "b"}));
    EXPECT_TRUE(watch.last_tip({"", "c"}));
}

TEST(PrefixWatch, ToolsThatMessagesAddAreComparedAsTools) {
    session::prompt_record record;
    record.tools = {"scroll"};
    asked first = longer();
    first.adds_tools = true;
    first.messages[0].prompt = std::make_shared<const session::prompt_record>(record);
    asked next = first;
    next.tools.push_back({"zoom", "", {}});
    record.tools = {"zoom"};
    next.messages.push_back(test::user("u2", "And?"));
    next.messages[2].prompt = std::make_shared<const session::prompt_record>(record);
    asked changed = next;
    changed.tools[1].description = "Scrolls.";
    prefix_watch watch;

    EXPECT_EQ(first.parts().listed_tools, 1U);
    EXPECT_EQ(broken(watch, first), "");
    EXPECT_EQ(broken(watch, next), "");
    EXPECT_EQ(broken(watch, changed), "tools tools[1]");
}

TEST(PrefixWatch, AToolThatGoesFromTheListToAMessageIsABreak) {
    session::prompt_record record;
    record.tools = {"scroll"};
    asked next = longer();
    next.adds_tools = true;
    next.messages.push_back(test::user("u2", "And?"));
    next.messages[2].prompt = std::make_shared<const session::prompt_record>(record);
    prefix_watch watch;
    (void)broken(watch, longer());

    EXPECT_EQ(broken(watch, next), "tools tools[1]");
}

} // namespace
} // namespace agui::runner
