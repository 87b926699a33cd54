#include "runner/base/tool_names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

std::vector<tool_definition> tools(const std::vector<std::string>& names) {
    std::vector<tool_definition> made;
    for (const std::string& name : names) {
        made.push_back({name, {}, {}});
    }
    return made;
}

/// The real name of the tool that the model means, or "none".
std::string meant(const std::vector<std::string>& offered, std::string_view said) {
    const std::vector<tool_definition> all = tools(offered);
    const tool_definition* const found = tool_names(&all).meant(said);
    return found == nullptr ? "none" : found->name;
}

std::string sent(const std::vector<std::string>& offered, std::string_view name) {
    const std::vector<tool_definition> all = tools(offered);
    return tool_names(&all).sent(name);
}

bool is_taken_by_model_servers(std::string_view name) {
    return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
}

TEST(ToolNames, ANameThatFitsIsSentAsItIs) {
    for (const std::string& name :
         {std::string("paint"), std::string("A-1_b"), std::string("_"), std::string("9"),
          std::string("calendar_create_a1b2c3d4"), std::string(64, 'x')}) {
        EXPECT_EQ(sent({name}, name), name);
        EXPECT_EQ(sent({}, name), name) << "no longer offered";
    }
}

TEST(ToolNames, AnotherNameIsMadeToFitAndGivenBack) {
    for (const std::string& name :
         {std::string("calendar.create"), std::string("a b"), std::string("caf\xC3\xA9"),
          std::string(" paint"), std::string("x/y:z"), std::string("."), std::string(65, 'x'),
          std::string(128, '.'), std::string("line\nend")}) {
        SCOPED_TRACE(name);
        const std::string made = sent({name}, name);

        EXPECT_TRUE(is_taken_by_model_servers(made)) << made;
        EXPECT_EQ(meant({name}, made), name);
        EXPECT_EQ(sent({}, name), made) << "history names it also when it is no longer offered";
    }
    EXPECT_TRUE(sent({}, "calendar.create").starts_with("calendar_create_"));
}

// Conversations contain the names, and requests must begin alike after an upgrade.
TEST(ToolNames, ANameIsMadeTheSameForEver) {
    EXPECT_EQ(sent({}, "calendar.create"), "calendar_create_w3el2dr8");
    EXPECT_EQ(sent({}, std::string(65, 'x')), std::string(55, 'x') + "_6a0cdi1h");
}

TEST(ToolNames, DependOnNoOtherTool) {
    const std::string alone = sent({"a.b"}, "a.b");

    EXPECT_EQ(sent({"a.b", "a_b", "a/b", "a b"}, "a.b"), alone);
    EXPECT_EQ(sent({"a b", "a/b", "a_b", "a.b"}, "a.b"), alone);
}

TEST(ToolNames, NoTwoAreTheSame) {
    std::vector<std::string> names;
    for (const std::string& start : {std::string("a"), std::string("a_b"), std::string(70, 'l')}) {
        for (const std::string separator : {".", "/", " ", ":", "_", "-", ".."}) {
            for (int i = 0; i < 200; ++i) {
                names.push_back(start + separator + std::to_string(i));
            }
        }
    }
    const std::vector<tool_definition> all = tools(names);
    const tool_names mapped(&all);
    std::set<std::string> made;
    for (const std::string& name : names) {
        made.insert(mapped.sent(name));
    }

    EXPECT_EQ(made.size(), names.size());
}

TEST(ToolNames, ARealNameThatLooksLikeAMadeOneIsNotTakenForIt) {
    const std::string made = sent({}, "calendar.create");
    for (const std::vector<std::string>& offered :
         {std::vector<std::string>{"calendar.create", made},
          std::vector<std::string>{made, "calendar.create"}}) {
        EXPECT_EQ(sent(offered, made), made);
        EXPECT_EQ(meant(offered, made), made);

        const std::string other = sent(offered, "calendar.create");
        EXPECT_NE(other, made);
        EXPECT_TRUE(is_taken_by_model_servers(other)) << other;
        EXPECT_EQ(meant(offered, other), "calendar.create");
    }
}

TEST(ToolNames, AModelMayAddWhiteSpaceAndItsNamespace) {
    EXPECT_EQ(meant({"paint"}, "paint"), "paint");
    EXPECT_EQ(meant({"paint"}, " paint\n"), "paint");
    EXPECT_EQ(meant({"paint"}, "\xC2\xA0paint\t"), "paint");
    EXPECT_EQ(meant({"paint"}, "functions.paint"), "paint");
    EXPECT_EQ(meant({"paint"}, " functions. paint "), "paint");
    EXPECT_EQ(meant({"calendar.create"}, "calendar.create"), "calendar.create") << "its real name";
    EXPECT_EQ(meant({"calendar.create"}, "functions.calendar.create"), "calendar.create");
    EXPECT_EQ(
        meant({"calendar.create"}, "functions." + sent({}, "calendar.create") + "\n"),
        "calendar.create"
    );
}

TEST(ToolNames, TheLongerNameCountsWhereItIsOffered) {
    EXPECT_EQ(meant({"paint", "functions.paint"}, "functions.paint"), "functions.paint");
    EXPECT_EQ(meant({"paint", "functions.paint"}, "paint"), "paint");
    EXPECT_EQ(meant({"paint", " paint"}, " paint"), " paint");
}

TEST(ToolNames, ToolsThatAreNotOfferedAreNotGuessed) {
    for (const std::string_view said :
         {"", " ", "pain", "Paint", "paint()", "functions.", "functions.pain", "tools.paint",
          "functions.functions.paint", "functions_paint", "my.functions.paint"}) {
        EXPECT_EQ(meant({"paint"}, said), "none") << said;
    }
    EXPECT_EQ(meant({}, "paint"), "none");
    EXPECT_EQ(tool_names(nullptr).meant("paint"), nullptr);
    EXPECT_EQ(tool_names(nullptr).sent("paint"), "paint");
}

} // namespace
} // namespace agui::runner
