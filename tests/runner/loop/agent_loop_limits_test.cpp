#include "tests/runner/loop/agent_loop_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

using session::call_status;

TEST_F(AgentLoop, StopsAfterMaxRoundsWithoutExecutingLaterCalls) {
    request.agent.max_rounds = 1;
    model.turns = {calls({{"c1", "weather", "{}"}}), calls({{"c2", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    EXPECT_EQ(status_of("c1"), call_status::answered);
    EXPECT_EQ(status_of("c2"), call_status::dead);
    EXPECT_THAT(
        sink.steps,
        ::testing::Contains(
            R"(result c2 failed {"error":"The call was interrupted; whether it had any effect is unknown."})"
        )
    );
}

// Each of the model's answers makes the same call.
std::deque<scripted_turn> same_call(int times, const std::string& tool = "weather") {
    std::deque<scripted_turn> turns;
    for (int i = 0; i < times; ++i) {
        turns.push_back(calls({{"c" + std::to_string(i), tool, R"({"city":"Ulm"})"}}));
    }
    return turns;
}

TEST_F(AgentLoop, WarnsAModelThatRepeatsItselfInFrontOfTheResult) {
    model.turns = same_call(4);
    model.turns.push_back(says("Sunny, then"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    const std::vector<session::message>& sent = model.histories.back();
    std::vector<std::string> results;
    for (const session::message& each : sent) {
        if (each.role == session::role::tool) {
            results.push_back(session::text_of(each.content));
        }
    }
    ASSERT_EQ(results.size(), 4U);
    EXPECT_EQ(results[1], R"(sunny {"city":"Ulm"})");
    EXPECT_EQ(
        results[2],
        "Warning: this tool was called 3 times in a row with the same arguments. Calling it again "
        "will not help: use the result, or try something else.\n\nsunny {\"city\":\"Ulm\"}"
    );
    EXPECT_THAT(results[3], ::testing::StartsWith("Warning: this tool was called 4 times"));
}

TEST_F(AgentLoop, AModelThatRepeatsItselfForEverIsWarnedAndStopped) {
    model.turns = same_call(11);

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    const session::thread_record thread = stored();
    EXPECT_EQ(status_of("c9"), call_status::answered);
    EXPECT_EQ(status_of("c10"), call_status::dead);
    const session::node_index tip = thread.branches.at(0).tip;
    const std::vector<session::message> history = session::model_history(thread, tip);
    EXPECT_EQ(history.size(), 1U + 2U * 11U) << "each call has its result";
}

// A round is not nested on the stack of the one before, so their number is harmless.
TEST_F(AgentLoop, RoundsDoNotNestOnTheStack) {
    constexpr int rounds = 200;
    request.agent.max_rounds = rounds;
    request.agent.limits.max_turn_rounds = rounds;
    request.agent.limits.loop_threshold = 0;
    std::vector<std::uintptr_t> stack;
    model.turns = same_call(rounds);
    model.turns.push_back(says("Done"));
    for (scripted_turn& turn : model.turns) {
        turn.answer = [said = turn.answer, &stack](model_sink& out) {
            // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a number to compare.
            stack.push_back(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
            return said(out);
        };
    }

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    ASSERT_EQ(stack.size(), rounds + 1U);
    const auto [lowest, highest] = std::ranges::minmax(stack);
    EXPECT_LT(highest - lowest, 64U * 1024U);
}

TEST_F(AgentLoop, ALoopEndsTheRunIfTheAgentSaysSo) {
    request.agent.limits.on_loop = loop_action::terminate;
    model.turns = same_call(3);

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::tool_loop);
    EXPECT_EQ(status_of("c1"), call_status::answered);
    EXPECT_EQ(status_of("c2"), call_status::dead);
}

TEST_F(AgentLoop, AfterALoopTheNextTurnBeginsAfresh) {
    request.agent.limits.on_loop = loop_action::terminate;
    model.turns = same_call(3);
    play();
    ASSERT_EQ(sink.end.reason, stop_reason::tool_loop);

    *given = stored();
    sink.commits.clear();
    const session::node_index tip = given->branches.at(0).tip;
    session::changes change;
    session::stored_message asked;
    asked.parent = tip;
    asked.message.id = "u2";
    asked.message.content = std::string("And now?");
    change.messages.push_back(asked);
    change.branches.push_back({0, {static_cast<session::node_index>(given->nodes.size()), 0}});
    session::apply(*given, change);
    request.run_id = "r2";
    model.turns = {
        calls({{"d1", "weather", R"({"city":"Ulm"})"}}),
        calls({{"d2", "weather", R"({"city":"Ulm"})"}}), says("Sunny")
    };
    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    std::vector<std::string> called;
    std::vector<std::string> answered;
    for (const session::message& each : model.histories.back()) {
        for (const session::tool_call& call : each.tool_calls) {
            called.push_back(call.id);
        }
        if (each.role == session::role::tool) {
            answered.push_back(each.tool_call_id);
        }
    }
    EXPECT_EQ(called, (std::vector<std::string>{"c0", "c1", "c2", "d1", "d2"}));
    EXPECT_EQ(answered, called) << "a valid history";
}

TEST_F(AgentLoop, ACallbackDecidesAboutALoop) {
    std::vector<std::size_t> told;
    request.agent.limits.on_loop = loop_action::terminate;
    request.agent.limits.decide_loop = [&told](const found_loop& found) {
        told.push_back(found.repeats);
        return found.repeats < 4 ? loop_action::go_on : loop_action::terminate;
    };
    model.turns = same_call(4);

    play();

    EXPECT_EQ(told, (std::vector<std::size_t>{3, 4}));
    EXPECT_EQ(sink.end.reason, stop_reason::tool_loop);
    EXPECT_THAT(sink.steps, ::testing::Contains(R"(result c2 sunny {"city":"Ulm"})"));
}

TEST_F(AgentLoop, WithoutAThresholdNothingIsDetected) {
    request.agent.limits.loop_threshold = 0;
    request.agent.limits.on_loop = loop_action::terminate;
    model.turns = same_call(5);
    model.turns.push_back(says("Done"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

// A page that answers the same hand-off again and again starts a run each time.
TEST_F(AgentLoop, ALoopOverSeveralRunsIsDetected) {
    request.agent.limits.on_loop = loop_action::terminate;
    request.new_user_turn = false;
    session::changes change;
    const auto add = [&change](session::node_index parent, session::message value) {
        session::stored_message node;
        node.parent = parent;
        node.message = std::move(value);
        change.messages.push_back(std::move(node));
    };
    for (session::node_index i = 0; i < 2; ++i) {
        session::message asked;
        asked.id = "a" + std::to_string(i);
        asked.role = session::role::assistant;
        asked.tool_calls = {{"e" + std::to_string(i), "change_background", "{}", {}, {}}};
        add(2 * i, std::move(asked));
        session::message answered;
        answered.id = "t" + std::to_string(i);
        answered.role = session::role::tool;
        answered.tool_call_id = "e" + std::to_string(i);
        add(2 * i + 1, std::move(answered));
    }
    change.branches.push_back({0, {4, 0}});
    session::apply(*given, change);
    model.turns = {calls({{"c1", "change_background", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::tool_loop);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());

    // The rounds of the whole turn are limited, too.
    request.agent.limits.loop_threshold = 0;
    request.agent.limits.max_turn_rounds = 2;
    sink.commits.clear();
    model.turns = {calls({{"c2", "change_background", "{}"}})};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    request.agent.limits.max_turn_rounds = 3;
    sink.commits.clear();
    model.turns = {calls({{"c3", "change_background", "{}"}})};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
}

TEST_F(AgentLoop, TheCallsOfARunAreLimited) {
    request.agent.limits.max_calls = 3;
    model.turns = {
        calls({{"c1", "weather", "{}"}, {"c2", "weather", R"({"a":1})"}}),
        calls({{"c3", "weather", R"({"a":2})"}, {"c4", "weather", R"({"a":3})"}})
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    EXPECT_EQ(status_of("c2"), call_status::answered);
    EXPECT_EQ(status_of("c3"), call_status::dead);
}

// Each hand-off starts a run of its own, so a page could continue forever.
TEST_F(AgentLoop, TheCallsOfATurnAreLimited) {
    request.agent.limits.max_calls = 2;
    model.turns = {calls({{"e1", "change_background", "{}"}, {"e2", "change_background", "{}"}})};
    play();
    ASSERT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.end.used.calls, 2U);

    *given = stored();
    request.run_id = "r2";
    request.new_user_turn = false;
    sink.commits.clear();
    model.turns = {calls({{"e3", "change_background", "{}"}})};
    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    EXPECT_EQ(sink.end.about.detail, "max_calls is exceeded");
    EXPECT_EQ(sink.end.used.calls, 3U);
}

scripted_turn pauses(std::string text) {
    return {[=](model_sink& out) -> model_outcome {
        out.on_text(text);
        out.on_turn_data("blocks", boost::json::object{{"opaque", text}});
        model_answer answer;
        answer.reason = finish_reason::pause;
        answer.usage.emplace();
        answer.usage->output_tokens = 5;
        return answer;
    }};
}

TEST_F(AgentLoop, AModelThatPausedGoesOnFromItsAnswer) {
    model.provider_name = "main";
    model.turns = {pauses("Half"), pauses(" and"), says(" whole")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(
        sink.steps, (std::vector<std::string>{
                        "text Half", "turn ended", "commit", "text  and", "turn ended", "commit",
                        "text  whole", "turn ended", "finish"
                    })
    );
    ASSERT_EQ(model.histories.size(), 3U);
    ASSERT_EQ(model.histories[2].size(), 3U);
    const session::message& last = model.histories[2].back();
    EXPECT_EQ(session::text_of(last.content), " and");
    ASSERT_TRUE(last.origin);
    EXPECT_EQ(last.origin->end, session::turn_end::paused);
    EXPECT_TRUE(last.origin->data.contains("blocks"));
    ASSERT_EQ(sink.end.usage.size(), 1U);
    EXPECT_EQ(sink.end.usage[0].output_tokens, 10);
    const auto& final_origin = stored().nodes.back().message.origin;
    EXPECT_TRUE(final_origin && final_origin->provider == "main") << "it is a part of that turn";
}

TEST_F(AgentLoop, AModelThatOnlyPausesIsStopped) {
    model.provider_name = "main";
    for (std::uint32_t i = 0; i <= pauses_max; ++i) {
        model.turns.push_back(pauses("Still"));
    }

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    EXPECT_EQ(sink.end.about.detail, "pauses_max is exceeded");
    EXPECT_EQ(sink.finishes, 1);
    EXPECT_EQ(stored().nodes.size(), 1U + pauses_max + 1U) << "what was shown is stored";
}

TEST_F(AgentLoop, APauseCountsAsARound) {
    request.agent.max_rounds = 1;
    model.turns = {pauses("Half"), pauses("More")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    EXPECT_EQ(sink.end.about.detail, "max_rounds is exceeded");
}

// What a turn has cost is stored with it: the follow-up run of a hand-off begins with it.
TEST_F(AgentLoop, TheTokensOfATurnAreLimited) {
    model.provider_name = "main";
    request.agent.limits.max_tokens = 100;
    model_answer answer;
    answer.usage.emplace();
    answer.usage->input_tokens = 60;
    answer.usage->output_tokens = 40;
    const auto counted = [&](int number) {
        scripted_turn turn = calls({{"c" + std::to_string(number), "weather", "{}"}});
        turn.answer = [said = turn.answer, answer](model_sink& out) -> model_outcome {
            (void)said(out);
            model_answer with_usage = answer;
            with_usage.reason = finish_reason::tool_calls;
            return with_usage;
        };
        return turn;
    };
    model.turns = {counted(1)};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
    EXPECT_EQ(status_of("c1"), call_status::answered) << "the answer itself is used";

    *given = stored();
    request.new_user_turn = false;
    sink.commits.clear();
    model.histories.clear();
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
    EXPECT_TRUE(model.histories.empty());

    request.agent.limits.max_tokens = 101;
    sink.commits.clear();
    model.turns = {says("More")};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

// A provider of a C++ program needs no name.
TEST_F(AgentLoop, TokensAreCountedForAProviderWithoutAName) {
    request.agent.limits.max_tokens = 1;
    model.turns = {calls({{"e1", "change_background", "{}"}})};
    play();
    ASSERT_EQ(sink.end.reason, stop_reason::external_tool);

    *given = stored();
    request.run_id = "r2";
    request.new_user_turn = false;
    sink.commits.clear();
    play();

    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
    EXPECT_EQ(model.histories.size(), 1U) << "it was not asked again";
    const session::message& said = given->nodes[given->nodes.size() - 1].message;
    ASSERT_NE(said.origin, nullptr);
    EXPECT_TRUE(said.origin->blocks.empty()) << "nothing else is kept of it";
}

TEST_F(AgentLoop, AModelServerThatCountsNothingIsEstimated) {
    model.provider_name = "main";
    request.agent.limits.max_tokens = 1000;
    model.turns = {calls({{"c1", "weather", R"({"city":")" + std::string(4000, 'x') + R"("})"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
}

class AgentLoopMemory : public AgentLoop {
protected:
    AgentLoopMemory() {
        max_result_bytes = 1U << 20U;
        tools.add({"large", "Says much", {}}, returns(std::string(300'000, 'x')));
    }

    void play_under(memory_budget& budget) {
        const loop_services services{model,      tools,   ids,    time, log, max_result_bytes,
                                     UINT64_MAX, nullptr, &budget};
        run(run_agent(request, services, sink, stop));
        EXPECT_EQ(budget.used(), 0U);
    }
};

TEST_F(AgentLoopMemory, ARunThatThereIsNoMemoryForEndsAndItsThreadStaysAsItIs) {
    memory_budget budget(2U << 20U);
    model.turns = {
        calls({{"c1", "large", "{}"}}), calls({{"c2", "large", "{}"}}), says("never asked")
    };

    play_under(budget);

    EXPECT_EQ(sink.end.reason, stop_reason::overloaded);
    EXPECT_EQ(error_code(sink.end.reason), "overloaded");
    EXPECT_EQ(model.histories.size(), 2U) << "with the second result its thread is too large";
    EXPECT_EQ(status_of("c1"), call_status::answered);
    EXPECT_EQ(status_of("c2"), call_status::answered);
}

TEST_F(AgentLoopMemory, TheHistoryCountsUntilTheModelHasTheRequest) {
    memory_budget budget(8U << 20U);
    std::size_t while_asked = 0;
    scripted_turn last = says("Done");
    last.answer = [&budget, &while_asked, say = last.answer](model_sink& to) {
        while_asked = budget.used(); // This model keeps the whole request until it has answered.
        return say(to);
    };
    model.turns = {calls({{"c1", "large", "{}"}}), last};

    play_under(budget);

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_GE(while_asked, 4 * 300'000U);
}

} // namespace
} // namespace agui::runner
