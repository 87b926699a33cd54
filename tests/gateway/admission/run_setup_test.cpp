#include "gateway/admission/run_setup.hpp"

#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// Returns true if a request without `tools` and `context` keeps those of the thread.
bool goes_on(std::vector<session::message> messages, const session::thread_record& thread) {
    translator::run_input input;
    input.messages = std::move(messages);
    complete_input(input, thread);
    EXPECT_EQ(input.tools.has_value(), input.has_context);
    return !input.tools;
}

session::thread_record called(session::call_status status) {
    test::thread_builder builder;
    builder.user("u1", "Hi").assistant("a1", "", {test::call("c1", "look")}, status);
    return builder.build();
}

TEST(RunSetup, ARequestWithAnswersKeepsToolsAndContext) {
    const session::thread_record waiting = called(session::call_status::pending);

    EXPECT_TRUE(goes_on({test::answer("c1", "ok")}, waiting));
    EXPECT_TRUE(goes_on({test::answer("c1", "ok"), test::user("u2", "And?")}, waiting));
    EXPECT_TRUE(goes_on(
        {test::user("u1", "Hi"), test::assistant("a1", "", {test::call("c1", "look")}),
         test::answer("c1", "ok")},
        waiting
    ));
    EXPECT_TRUE(goes_on({test::answer("c1", "ok")}, called(session::call_status::answered)))
        << "a retry";
    EXPECT_TRUE(goes_on(
        {test::assistant("x", "", {test::call("own", "look")}), test::answer("own", "ok")}, waiting
    )) << "a call of the client's own";
}

TEST(RunSetup, AnyOtherRequestWithoutToolsAndContextHasNone) {
    const session::thread_record waiting = called(session::call_status::pending);

    EXPECT_FALSE(goes_on({}, waiting));
    EXPECT_FALSE(goes_on({test::user("u2", "And?")}, waiting));
    EXPECT_FALSE(goes_on({test::user("u1", "Hi")}, waiting)) << "regenerate";
    EXPECT_FALSE(goes_on(
        {test::user("u1", "Hi"), test::assistant("a1", "", {test::call("c1", "look")}),
         test::answer("c1", "ok"), test::assistant("a2", "So"), test::user("u2", "And?")},
        called(session::call_status::answered)
    )) << "its answers are of an earlier turn";
    for (const auto status :
         {session::call_status::dead, session::call_status::abandoned, session::call_status::denied
         }) {
        EXPECT_FALSE(goes_on({test::answer("c1", "ok")}, called(status)));
    }
    test::thread_builder server;
    server.user("u1", "Hi").assistant("a1", "", {test::call("s1", "get_weather")});
    EXPECT_FALSE(goes_on({test::answer("s1", "rain"), test::user("u2", "And?")}, server.build()))
        << "the result of the server's own tool";
}

TEST(RunSetup, AResumeContinuesTheTurn) {
    translator::run_input input;
    input.resume.emplace_back();
    complete_input(input, {});

    EXPECT_FALSE(input.tools);
    EXPECT_FALSE(input.has_context);
}

TEST(RunSetup, AMessageWithAResumeIsNotQueuedWithoutIt) {
    translator::run_input input;
    input.messages = {test::user("u1", "Hello")};
    EXPECT_EQ(messages_to_queue(input, {}).size(), 1U);
    input.resume.emplace_back();
    EXPECT_TRUE(messages_to_queue(input, {}).empty());
}

TEST(RunSetup, TheMembersOfARequestCount) {
    translator::run_input input;
    input.messages = {test::answer("c1", "ok")};
    input.tools.emplace();
    complete_input(input, called(session::call_status::pending));

    EXPECT_TRUE(input.tools->empty());
    EXPECT_FALSE(input.has_context) << "it is asked one by one";
}

TEST(RunSetup, ARequestSetsWhatTheAgentLetsItSet) {
    agent_entry agent;
    agent.settings.parameters.seed = 1;
    agent.settings.parameters.format = std::make_shared<const runner::answer_format>();
    agent.fallbacks.emplace_back();
    translator::run_input input;
    input.forwarded.top_p = 0.5;
    input.forwarded.stop = std::vector<std::string>{"END"};
    input.forwarded.seed = 2;
    input.forwarded.response_format.emplace(); // Any text.

    const chosen_agent plain = agent_of(agent, input, {}, null_logger());
    EXPECT_FALSE(plain.settings.parameters.top_p.has_value());
    EXPECT_FALSE(plain.settings.parameters.stop.has_value());
    EXPECT_EQ(plain.settings.parameters.seed, 1);
    EXPECT_NE(plain.settings.parameters.format, nullptr);

    agent.overridable = {"top_p", "stop", "seed", "response_format"};
    const chosen_agent chosen = agent_of(agent, input, {}, null_logger());
    EXPECT_EQ(chosen.settings.parameters.top_p, 0.5);
    EXPECT_EQ(chosen.settings.parameters.stop, std::vector<std::string>{"END"});
    EXPECT_EQ(chosen.settings.parameters.seed, 2);
    EXPECT_EQ(chosen.settings.parameters.format, nullptr);
    EXPECT_EQ(chosen.fallbacks.at(0).parameters.seed, 2);
}

TEST(RunSetup, SuggestionsAreOneModelCallWithTheirToolAlone) {
    agent_entry agent;
    agent.settings.tool_patterns = {"weather"};
    agent.settings.max_rounds = 10;
    agent.fallbacks.emplace_back();
    translator::run_input input;
    input.forwarded.tool_choice = "copilotkitSuggest";

    const chosen_agent usual = agent_of(agent, input, {}, null_logger());
    EXPECT_FALSE(usual.settings.only_external_tools);
    EXPECT_FALSE(usual.settings.parameters.tool_choice.has_value());

    input.is_for_suggestions = true;
    const chosen_agent chosen = agent_of(agent, input, {}, null_logger());
    EXPECT_TRUE(chosen.settings.only_external_tools);
    EXPECT_EQ(chosen.settings.max_rounds, 1U);
    for (const auto& parameters : {chosen.settings.parameters, chosen.fallbacks.at(0).parameters}) {
        ASSERT_TRUE(parameters.tool_choice.has_value());
        EXPECT_EQ(parameters.tool_choice->name, "copilotkitSuggest");
        EXPECT_TRUE(parameters.tool_choice->instead_of_thinking);
    }
}

TEST(RunSetup, SuggestionsAreOfferedTheToolsOfTheirRequestAlone) {
    run_settings settings;
    settings.external_tools.push_back({{"always", "", {}}, true});
    settings.reject_name_clash = true;
    translator::run_input input;
    input.tools.emplace().push_back({"copilotkitSuggest", "", {}});
    const auto is_server_tool = [](std::string_view) {
        return true;
    };
    const auto names = [&] {
        std::vector<std::string> all;
        const boost::json::array stored = {{{"name", "copilotkitSuggest"}}};
        const auto tools =
            external_tools(settings, {}, is_server_tool, input, stored, null_logger());
        if (tools) {
            for (const runner::tool_definition& tool : *tools) {
                all.push_back(tool.name);
            }
        }
        return all;
    };

    EXPECT_TRUE(names().empty()) << "the name is taken";
    input.is_for_suggestions = true;
    EXPECT_EQ(names(), std::vector<std::string>{"copilotkitSuggest"});
}

} // namespace
} // namespace agui::gateway
