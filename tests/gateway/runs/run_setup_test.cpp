#include "gateway/runs/run_setup.hpp"

#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace agui::gateway {
namespace {

agent_entry with_instructions(std::string_view text) {
    agent_entry agent;
    agent.prompt = session::prompt_template::parse(text, {"locale"}).value();
    return agent;
}

std::string instructions(const agent_entry& agent, const session::thread_record& thread) {
    return agent_of(agent, {}, thread, null_logger()).settings.instructions;
}

// Thirty seconds pass from one message to the next.
session::thread_record timed(session::thread_record thread) {
    session::thread_record made = thread;
    made.nodes = {};
    for (std::size_t i = 0; i < thread.nodes.size(); ++i) {
        session::stored_message node = thread.nodes[i];
        node.created_at = 1'772'357'400'000 + static_cast<unix_ms>(i) * 30'000;
        made.nodes.push_back(std::move(node));
    }
    return made;
}

TEST(RunSetup, TheTimeIsThatOfTheLastUserMessage) {
    const agent_entry agent = with_instructions("{{time}}");
    test::thread_builder builder;
    builder.user("u1", "Hi").assistant("a1", "Hello").user("u2", "Look");
    EXPECT_EQ(instructions(agent, timed(builder.build())), "2026-03-01T09:31:00Z");

    builder.assistant("a2", "", {test::call("c1", "look")}).answer("c1", "ok");
    EXPECT_EQ(instructions(agent, timed(builder.build())), "2026-03-01T09:31:00Z");

    session::message hint = test::user("p1", "Be quick.");
    hint.by_plugin = true;
    builder.add(hint);
    EXPECT_EQ(instructions(agent, timed(builder.build())), "2026-03-01T09:31:00Z")
        << "a plugin's message begins no turn";

    builder.fork("a1");
    EXPECT_EQ(instructions(agent, timed(builder.build())), "2026-03-01T09:30:00Z")
        << "on the branch that the run continues";
}

TEST(RunSetup, TheUserIsThePrincipal) {
    session::thread_record thread;
    thread.key = {"ann", "t1"};

    EXPECT_EQ(instructions(with_instructions("{{user}} {{thread}}"), thread), "ann t1");
}

TEST(RunSetup, InstructionsWithoutPlaceholdersAreThoseOfTheSettings) {
    agent_entry agent;
    agent.settings.instructions = "Be {{brief}}.";

    EXPECT_EQ(instructions(agent, {}), "Be {{brief}}.");
}

} // namespace
} // namespace agui::gateway
