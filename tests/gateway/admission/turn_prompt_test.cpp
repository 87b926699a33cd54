#include "gateway/admission/turn_prompt.hpp"

#include "gateway/admission/run_setup.hpp"
#include "runner/loop/context_part.hpp"
#include "runner/loop/run_tools.hpp"
#include "session/conversation/prompt_record.hpp"
#include "session/history/history_plan.hpp"
#include "session/history/model_history.hpp"
#include "session/history/turn_failure.hpp"
#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using lines = std::vector<std::string>;

/// The parts of a model request.
struct sent {
    std::string system;
    std::vector<std::string> tools;
    std::vector<std::string> with_late; ///< run_tools::with_late()
    std::vector<std::string> messages;  ///< One JSON text each.
    std::vector<std::string> added;     ///< Names of the tools that each message adds.
};

/// A thread and an agent whose requests are planned, stored and made as in a run.
class conversation {
public:
    explicit conversation(std::string_view instructions) {
        agent.prompt = session::prompt_template::parse(instructions, {"locale"}).value();
        if (agent.prompt.constant()) {
            agent.settings.instructions = agent.prompt.render({});
        }
        agent.prompt_source = instructions;
        agent.state = context_place::user;
        thread.key.thread_id = "t";
    }

    /// Returns the resulting request to the model; nullopt if the model is not asked.
    std::optional<sent> post(translator::run_input input) {
        input.thread_id = "t";
        input.run_id = "r" + std::to_string(++runs_);
        input.tools.emplace();
        std::vector<std::string> names;
        for (const std::string& name : offered) {
            input.tools->push_back({.name = name, .description = name + edition, .parameters = {}});
            input.tools_json.push_back({{"name", name}, {"description", name + edition}});
            names.push_back(name);
        }
        complete_input(input, thread);
        const auto is_server_tool = [this](std::string_view name) {
            return tools_.contains(name);
        };
        auto plan = session::plan_history(
                        thread, history_of(settings_, is_server_tool, tools_, input, now), policy_
        )
                        .value();
        complete_change(plan, input, thread, agent, policy_, now);
        record_prompt(plan, thread, agent, names, now);
        session::apply(thread, plan.change);
        return plan.next == session::next_step::call_model ? std::optional(request())
                                                           : std::nullopt;
    }

    sent request() const {
        const chosen_agent chosen = agent_of(agent, {}, thread, null_logger());
        auto history = session::model_history(thread, tip(), agent.settings.window);
        runner::put_context(history, chosen.settings.context);
        sent made;
        made.system = chosen.settings.instructions;
        const auto is_server_tool = [this](std::string_view name) {
            return tools_.contains(name);
        };
        auto external = external_tools(
            settings_, agent, is_server_tool, {}, thread.offered_tools, null_logger()
        );
        const runner::run_tools tools(tools_, chosen.settings, std::move(external.value()));
        for (const runner::tool_definition& tool : tools.offered()) {
            made.tools.push_back(tool.name + ": " + tool.description);
        }
        for (const runner::tool_definition& tool : tools.with_late()) {
            made.with_late.push_back(tool.name + ": " + tool.description);
        }
        for (const session::message& each : history) {
            made.messages.push_back(test::bytes({each}));
            std::string& added = made.added.emplace_back();
            if (each.prompt) {
                for (const std::string& name : each.prompt->tools) {
                    added += name;
                }
            }
        }
        return made;
    }

    /// The model's answer. A call is left to the client.
    void answer(std::string text, const std::vector<std::string>& calls = {}) {
        session::changes change;
        session::stored_message node;
        node.parent = tip();
        node.message = test::assistant("a" + std::to_string(++answers_), std::move(text));
        for (const std::string& id : calls) {
            node.message.tool_calls.push_back(test::call(id, "paint"));
            session::call_record call;
            call.id = id;
            call.name = "paint";
            call.status = session::call_status::pending;
            call.made_in = static_cast<session::node_index>(thread.nodes.size());
            change.calls.push_back(std::move(call));
        }
        const auto made = static_cast<session::node_index>(thread.nodes.size());
        change.messages.push_back(std::move(node));
        change.branches.push_back({thread.head, {made, 0}});
        session::apply(thread, change);
    }

    /// The model server refuses the last request.
    void refuse() {
        session::changes change;
        session::stored_message node;
        node.parent = tip();
        node.message = session::failure_note(
            thread.nodes[tip()].message.id, {.code = "c", .message = "m", .refused = true}
        );
        const auto made = static_cast<session::node_index>(thread.nodes.size());
        change.messages.push_back(std::move(node));
        change.branches.push_back({thread.head, {made, 0}});
        session::apply(thread, change);
    }

    session::node_index tip() const { return thread.branches.at(thread.head).tip; }

    agent_entry agent;
    session::thread_record thread;
    std::vector<std::string> offered = {"paint"}; ///< Offered by the client's requests.
    std::string edition;                          ///< The end of the descriptions.
    unix_ms now = 1'772'357'400'000;

private:
    run_settings settings_;
    runner::tool_registry tools_;
    session::history_policy policy_;
    int runs_ = 0;
    int answers_ = 0;
};

translator::run_input
say(const std::string& id, std::optional<std::string> context = std::nullopt) {
    translator::run_input input;
    input.messages = {test::user(id, "Tell me more, " + id + ".")};
    if (context) {
        input.has_context = true;
        if (!context->empty()) {
            input.context = {{"cart", *std::move(context)}};
        }
    }
    return input;
}

translator::run_input
answer_calls(const std::vector<std::string>& ids, std::optional<std::string> context) {
    translator::run_input input = say("", std::move(context));
    input.messages.clear();
    for (const std::string& id : ids) {
        input.messages.push_back(test::answer(id, "done"));
    }
    return input;
}

// The first element of `before` with which `after` does not begin; empty if there is none.
std::string first_break(const sent& before, const sent& after) {
    if (before.system != after.system) {
        return "system: " + before.system + " | " + after.system;
    }
    for (std::size_t i = 0; i < before.tools.size(); ++i) {
        if (i == after.tools.size() || before.tools[i] != after.tools[i]) {
            return "tools[" + std::to_string(i) + "]";
        }
    }
    for (std::size_t i = 0; i < before.messages.size(); ++i) {
        if (i == after.messages.size() || before.messages[i] != after.messages[i]) {
            return "messages[" + std::to_string(i) + "]: " + before.messages[i] + " | " +
                   (i < after.messages.size() ? after.messages[i] : "");
        }
    }
    return {};
}

bool holds(const std::string& text, std::string_view what) {
    return text.find(what) != std::string::npos;
}

TEST(TurnPrompt, ANewTimeIsToldInTheNewMessage) {
    conversation talk("It is {{time}}.");
    const sent first = talk.post(say("u1")).value();
    talk.answer("Hello");
    talk.now += 60'000;
    const sent second = talk.post(say("u2")).value();

    EXPECT_EQ(first.system, "It is 2026-03-01T09:30:00Z.");
    EXPECT_EQ(first_break(first, second), "");
    EXPECT_TRUE(holds(second.messages.back(), "2026-03-01T09:31:00Z")) << second.messages.back();
}

TEST(TurnPrompt, RewriteMakesTheSystemTextAnew) {
    conversation talk("It is {{time}}.");
    talk.agent.refresh = instructions_refresh::rewrite;
    talk.agent.context = context_place::system;
    (void)talk.post(say("u1", "one"));
    talk.answer("Hello");
    talk.now += 60'000;
    const sent second = talk.post(say("u2", "two")).value();

    EXPECT_TRUE(second.system.starts_with("It is 2026-03-01T09:31:00Z.\n\n<context"));
    EXPECT_TRUE(holds(second.system, "two"));
    EXPECT_FALSE(holds(second.messages.back(), "note="));
}

TEST(TurnPrompt, TheSameContextIsToldOnce) {
    conversation talk("Be brief.");
    (void)talk.post(say("u1", "one"));
    talk.answer("Hello");
    const sent second = talk.post(say("u2", "one")).value();

    EXPECT_TRUE(holds(second.messages.at(0), "one"));
    EXPECT_FALSE(holds(second.messages.at(2), "one"));
}

TEST(TurnPrompt, ANewContextWithAnAnswerEndsTheLastResult) {
    conversation talk("Be brief.");
    const sent first = talk.post(say("u1", "one")).value();
    talk.answer("", {"c1", "c2"});
    const sent second = talk.post(answer_calls({"c2", "c1"}, "two")).value();
    talk.answer("So");
    const sent third = talk.post(say("u2")).value();

    EXPECT_EQ(first_break(first, second), "");
    EXPECT_EQ(first_break(second, third), "");
    EXPECT_FALSE(holds(second.messages.at(2), "two"));
    EXPECT_TRUE(holds(second.messages.at(3), "two")) << "the last in the request";
}

// No message brings it, so the request after that could not repeat it.
TEST(TurnPrompt, ANewContextForAnotherAnswerIsToldWithTheNextMessage) {
    conversation talk("Be brief.");
    const sent first = talk.post(say("u1", "one")).value();
    talk.answer("Hello");
    const sent again = talk.post(say("u1", "two")).value();
    EXPECT_EQ(again.messages, first.messages);
    talk.answer("Hello again");
    const sent next = talk.post(say("u2", "two")).value();

    EXPECT_EQ(first_break(again, next), "");
    EXPECT_TRUE(holds(next.messages.back(), "two"));
}

TEST(TurnPrompt, ANewContextOrStateWithoutAMessageIsToldWithTheNextOne) {
    conversation talk("Be brief.");
    (void)talk.post(say("u1", "one"));
    talk.answer("", {"c1"});
    const sent second = talk.post(answer_calls({"c1"}, "one")).value();
    translator::run_input same = answer_calls({"c1"}, "two");
    same.state.emplace(R"({"page":2})");
    const sent again = talk.post(std::move(same)).value();
    EXPECT_EQ(again.messages, second.messages);
    talk.answer("So");
    const sent next = talk.post(say("u2", "two")).value();

    EXPECT_EQ(first_break(again, next), "");
    EXPECT_TRUE(holds(next.messages.back(), "two"));
    EXPECT_TRUE(holds(next.messages.back(), "page"));
}

TEST(TurnPrompt, AContextInTheSystemTextStays) {
    conversation talk("Be brief.");
    talk.agent.context = context_place::system;
    const sent first = talk.post(say("u1", "one")).value();
    talk.answer("Hello");
    const sent second = talk.post(say("u2", "two")).value();

    EXPECT_TRUE(holds(first.system, "one"));
    EXPECT_EQ(first_break(first, second), "");
    EXPECT_TRUE(holds(second.messages.back(), "two"));
}

TEST(TurnPrompt, WhatARefusedMessageToldIsToldAnew) {
    conversation talk("It is {{time}}.");
    (void)talk.post(say("u1", "one"));
    talk.refuse();
    talk.now += 60'000;
    const sent second = talk.post(say("u2", "one")).value();

    EXPECT_EQ(second.system, "It is 2026-03-01T09:31:00Z.");
    EXPECT_FALSE(holds(second.messages.at(0), "one"));
    EXPECT_TRUE(holds(second.messages.at(1), "one"));
    talk.answer("Hello");
    EXPECT_EQ(first_break(second, talk.post(say("u3")).value()), "");
}

TEST(TurnPrompt, AChangedTextTakesEffect) {
    conversation talk("Be brief.");
    (void)talk.post(say("u1", "one"));
    talk.answer("Hello");
    talk.agent.settings.instructions = "Be very brief.";
    talk.agent.prompt_source = "2";
    const sent second = talk.post(say("u2")).value();

    EXPECT_EQ(second.system, "Be very brief.");
    EXPECT_TRUE(holds(second.messages.at(0), "one"));
}

TEST(TurnPrompt, ToolsKeepTheOrderInWhichTheyCame) {
    conversation talk("Be brief.");
    talk.offered = {"paint"};
    (void)talk.post(say("u1"));
    talk.answer("Hello");
    talk.offered = {"scroll", "paint"};
    EXPECT_EQ(talk.post(say("u2"))->tools, (lines{"paint: paint", "scroll: scroll"}));
    talk.answer("Hello");
    talk.offered = {"zoom", "scroll"};

    EXPECT_EQ(talk.post(say("u3"))->tools, (lines{"scroll: scroll", "zoom: zoom"}));
}

TEST(TurnPrompt, AWithdrawnToolMayStayDeclared) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.offered = {"paint", "scroll"};
    (void)talk.post(say("u1"));
    talk.answer("Hello");
    talk.offered = {"zoom"};
    const lines declared = {"paint: paint", "scroll: scroll", "zoom: zoom"};
    EXPECT_EQ(talk.post(say("u2"))->tools, declared);
    talk.answer("Hello");
    talk.offered = {"scroll"};

    EXPECT_EQ(talk.post(say("u3"))->tools, declared);
}

TEST(TurnPrompt, AToolStaysDeclaredAfterAnEditToABranchThatHasIt) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.offered = {"scroll", "paint"};
    const sent first = talk.post(say("u1")).value();
    talk.answer("Hello");
    const auto after_first = talk.tip();
    talk.offered = {"paint"};
    (void)talk.post(say("u2"));
    talk.answer("Hello");
    talk.thread.branches.at(talk.thread.head).tip = after_first;
    talk.offered = {"zoom", "paint"};
    const sent edited = talk.post(say("u3")).value();
    EXPECT_EQ(first_break(first, edited), "");
    EXPECT_EQ(edited.tools, (lines{"scroll: scroll", "paint: paint", "zoom: zoom"}));
    talk.answer("Hello");
    talk.offered = {"scroll", "zoom", "paint"};

    EXPECT_EQ(first_break(edited, talk.post(say("u4")).value()), "");
}

TEST(TurnPrompt, AToolStaysDeclaredIfNoMessageComesWhenItGoes) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.offered = {"paint", "scroll"};
    const sent first = talk.post(say("u1")).value();
    talk.offered = {"scroll"};
    const sent again = talk.post({}).value();
    EXPECT_EQ(again.tools, first.tools);
    talk.answer("Hello");
    const sent next = talk.post(say("u2")).value();
    EXPECT_EQ(first_break(again, next), "");
    talk.answer("Hello");

    EXPECT_EQ(first_break(next, talk.post(say("u3")).value()), "");
}

TEST(TurnPrompt, AToolStaysDeclaredIfItGoesWithAResultForWhichOthersAreMissing) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.offered = {"paint", "scroll"};
    const sent first = talk.post(say("u1")).value();
    talk.answer("", {"c1", "c2"});
    talk.offered = {"scroll"};
    EXPECT_FALSE(talk.post(answer_calls({"c1"}, std::nullopt)));

    EXPECT_EQ(first_break(first, talk.post(answer_calls({"c2"}, std::nullopt)).value()), "");
}

TEST(TurnPrompt, AToolStaysDeclaredIfItGoesWithARefusedMessage) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.offered = {"paint", "scroll"};
    const sent first = talk.post(say("u1")).value();
    talk.answer("Hello");
    talk.offered = {"scroll"};
    (void)talk.post(say("u2"));
    talk.refuse();

    EXPECT_EQ(first_break(first, talk.post(say("u3")).value()), "");
}

TEST(TurnPrompt, AKeptToolIsNotOffered) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.offered = {"paint", "scroll"};
    (void)talk.post(say("u1"));
    talk.offered = {"scroll"};
    (void)talk.post({});
    const translator::run_input without;

    const auto offered = external_tools(
        {}, talk.agent, [](std::string_view) { return false; }, without, talk.thread.offered_tools,
        null_logger()
    );
    ASSERT_EQ(offered.value().size(), 1U);
    EXPECT_EQ(offered->front().name, "scroll");
}

TEST(TurnPrompt, AToolThatComesBackIsTheLastOne) {
    conversation talk("Be brief.");
    talk.offered = {"paint", "scroll"};
    (void)talk.post(say("u1"));
    talk.answer("Hello");
    talk.offered = {"scroll"};
    const sent second = talk.post(say("u2")).value();
    talk.answer("Hello");
    talk.offered = {"paint", "scroll"};

    EXPECT_EQ(first_break(second, talk.post(say("u3")).value()), "");
}

TEST(TurnPrompt, AToolThatComesWithAnAnswerMayHaveToWait) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    (void)talk.post(say("u1"));
    talk.answer("", {"c1"});
    talk.offered = {"zoom", "paint"};
    EXPECT_EQ(talk.post(answer_calls({"c1"}, std::nullopt))->tools, lines{"paint: paint"});
    talk.answer("So");

    EXPECT_EQ(talk.post(say("u2"))->tools, (lines{"paint: paint", "zoom: zoom"}));
}

// The result of such a call is made by the run, so the request brings no message.
TEST(TurnPrompt, AToolThatComesWithAnApprovalHasToWait) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    (void)talk.post(say("u1"));
    talk.answer("", {"c1"});
    talk.thread.offered_tools.push_back({{"name", "zoom"}, {"description", "zoom"}});
    EXPECT_EQ(talk.request().tools, lines{"paint: paint"});
}

TEST(TurnPrompt, AnotherDefinitionWaitsForTheNextUserMessageWhereThoughtsAreBound) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    const sent first = talk.post(say("u1")).value();
    talk.answer("", {"c1"});
    talk.edition = " blue";
    const sent answered = talk.post(answer_calls({"c1"}, std::nullopt)).value();
    EXPECT_EQ(first_break(first, answered), "");
    EXPECT_EQ(answered.tools, lines{"paint: paint"});
    talk.answer("So", {"c2"});
    (void)talk.post(answer_calls({"c2"}, std::nullopt));
    talk.answer("So");

    EXPECT_EQ(talk.post(say("u2"))->tools, lines{"paint: paint blue"});
}

TEST(TurnPrompt, AToolThatComesBackInsideATurnHasTheDefinitionThatIsDeclared) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.offered = {"paint", "scroll"};
    const sent first = talk.post(say("u1")).value();
    talk.answer("", {"c1"});
    talk.offered = {"paint"};
    (void)talk.post(answer_calls({"c1"}, std::nullopt));
    talk.answer("", {"c2"});
    talk.offered = {"paint", "scroll"};
    talk.edition = " blue";

    EXPECT_EQ(first_break(first, talk.post(answer_calls({"c2"}, std::nullopt)).value()), "");
}

TEST(TurnPrompt, AnotherDefinitionIsDeclaredAtOnceWhereNoThoughtIsBound) {
    conversation talk("Be brief.");
    (void)talk.post(say("u1"));
    talk.answer("", {"c1"});
    talk.edition = " blue";

    EXPECT_EQ(talk.post(answer_calls({"c1"}, std::nullopt))->tools, lines{"paint: paint blue"});
}

TEST(TurnPrompt, AToolThatComesWithAnAnswerIsToldAtOnceWhereAModelTakesIt) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.agent.adds_tools = true;
    (void)talk.post(say("u1"));
    talk.answer("", {"c1"});
    talk.offered = {"zoom", "paint"};
    const sent late = talk.post(answer_calls({"c1"}, std::nullopt)).value();
    EXPECT_EQ(late.tools, lines{"paint: paint"}) << "for other models";
    EXPECT_EQ(late.with_late, (lines{"paint: paint", "zoom: zoom"}));
    EXPECT_EQ(late.added, (lines{"", "", "zoom"}));
    talk.answer("So");

    const sent next = talk.post(say("u2")).value();
    EXPECT_EQ(next.tools, (lines{"paint: paint", "zoom: zoom"}));
    EXPECT_EQ(next.added, (lines{"", "", "zoom", "", ""})) << "its place stays";
}

// No message tells it, so it would stand in the list now, and with the next message later.
TEST(TurnPrompt, AToolThatComesWithARepetitionWaitsWhereMessagesAddTools) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.agent.adds_tools = true;
    (void)talk.post(say("u1"));
    talk.offered = {"paint", "zoom"};
    const sent again = talk.post({}).value();
    EXPECT_EQ(again.with_late, lines{"paint: paint"});
    talk.answer("So");

    const sent next = talk.post(say("u2")).value();
    EXPECT_EQ(next.with_late, (lines{"paint: paint", "zoom: zoom"}));
    EXPECT_EQ(next.added, (lines{"", "", "zoom"}));
}

TEST(TurnPrompt, TheFirstToolDoesNotComeInsideATurn) {
    conversation talk("Be brief.");
    talk.agent.tool_list = tool_list::append;
    talk.agent.adds_tools = true;
    talk.offered = {};
    (void)talk.post(say("u1"));
    talk.answer("", {"c1"});
    talk.offered = {"zoom"};
    EXPECT_EQ(talk.post(answer_calls({"c1"}, std::nullopt))->with_late, lines());
    talk.answer("So");

    EXPECT_EQ(talk.post(say("u2"))->tools, lines{"zoom: zoom"});
}

} // namespace
} // namespace agui::gateway
