#include "runner/base/added_tools.hpp"

#include "session/conversation/prompt_record.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using names = std::vector<std::string>;

session::message adding(names tools) {
    session::prompt_record record;
    record.tools = std::move(tools);
    session::message made;
    made.prompt = std::make_shared<const session::prompt_record>(std::move(record));
    return made;
}

names names_of(const std::vector<const tool_definition*>& tools) {
    names all;
    for (const tool_definition* const each : tools) {
        all.push_back(each->name);
    }
    return all;
}

class AddedTools : public ::testing::Test {
protected:
    AddedTools() {
        request.tools = &tools;
        request.messages = &messages;
        request.adds_tools = true;
    }

    std::vector<tool_definition> tools = {{"paint", "", {}}, {"scroll", "", {}}, {"zoom", "", {}}};
    std::vector<session::message> messages = {
        session::message(), adding({"zoom", "gone"}), adding({"scroll"})
    };
    model_request request;
};

TEST_F(AddedTools, AreToldWithTheirMessages) {
    const added_tools split(request);

    EXPECT_EQ(names_of(split.listed()), names{"paint"});
    EXPECT_EQ(names_of(split.added_with(messages[0])), names());
    EXPECT_EQ(names_of(split.added_with(messages[1])), names{"zoom"}) << "it has a definition";
    EXPECT_EQ(names_of(split.added_with(messages[2])), names{"scroll"});
    EXPECT_TRUE(split.is_added("zoom"));
    EXPECT_FALSE(split.is_added("paint"));
    EXPECT_FALSE(split.is_added("gone"));
}

TEST_F(AddedTools, AreListedForAModelThatDoesNotTakeThem) {
    request.adds_tools = false;
    const added_tools split(request);

    EXPECT_EQ(names_of(split.listed()), (names{"paint", "scroll", "zoom"}));
    EXPECT_EQ(names_of(split.added_with(messages[1])), names());
    EXPECT_FALSE(split.is_added("zoom"));
}

TEST_F(AddedTools, NeverLeaveTheListEmpty) {
    tools.erase(tools.begin()); // Another agent's, or one that is gone.
    const added_tools split(request);

    EXPECT_EQ(names_of(split.listed()), names{"zoom"});
    EXPECT_EQ(names_of(split.added_with(messages[1])), names());
    EXPECT_EQ(names_of(split.added_with(messages[2])), names{"scroll"});
    EXPECT_FALSE(split.is_added("zoom"));
}

TEST_F(AddedTools, OfARequestWithoutToolsAreNone) {
    request.tools = nullptr;
    const added_tools split(request);

    EXPECT_TRUE(split.listed().empty());
    EXPECT_TRUE(split.added_with(messages[1]).empty());
}

} // namespace
} // namespace agui::runner
