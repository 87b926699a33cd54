#include "runner/base/tool_names.hpp"
#include "tests/runner/loop/agent_loop_fixture.hpp"

#include <gmock/gmock.h>

namespace agui::runner {
namespace {

using session::call_status;

TEST_F(AgentLoop, StoresTheAnswerTogetherWithTheEnd) {
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(sink.steps, (std::vector<std::string>{"text Hi", "turn ended", "finish"}));
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    ASSERT_EQ(sink.commits.size(), 1U);
    const session::thread_record thread = stored();
    EXPECT_EQ(session::text_of(thread.nodes.at(1).message.content), "Hi");
    EXPECT_EQ(thread.branches.at(0).tip, 1U);
}

TEST_F(AgentLoop, LeavesExternalCallsPendingWithTheEnd) {
    model.turns = {calls({{"c1", "change_background", R"({"color":"blue"})"}})};

    play();

    EXPECT_EQ(
        sink.steps, (std::vector<std::string>{
                        "call c1 change_background external", R"(args c1 {"color":"blue"})",
                        "turn ended", "finish"
                    })
    );
    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.end.pending_call_ids, (std::vector<std::string>{"c1"}));
    EXPECT_EQ(status_of("c1"), call_status::pending);
}

TEST_F(AgentLoop, TextOfTheModelServerIsLoggedAtDebugOnly) {
    model.turns = {{[](model_sink&) -> model_outcome {
        return model_failure{model_failure::kind::rejected, 400, "an error status", "your text: …"};
    }}};

    play();

    EXPECT_THAT(
        log.lines(),
        ::testing::ElementsAre(
            "error model call failed run=r1 model=\"\" status=400 detail=\"an error status\"",
            "debug text from the model server run=r1 upstream=\"your text: …\""
        )
    );
}

TEST_F(AgentLoop, AnUnknownFinishReasonIsLoggedWithItsNameAtDebugOnly) {
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_text("Hi");
        return model_answer{
            .reason = finish_reason::stop, .usage = {}, .unknown_reason = "whatever"
        };
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(
        log.lines(), ::testing::ElementsAre(
                         "warning the model server sent an unknown finish_reason run=r1",
                         "debug text from the model server run=r1 upstream=whatever"
                     )
    );
}

TEST_F(AgentLoop, ThoughtsThatTheServerDidNotTakeAreLoggedByTheirNumber) {
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_text("Hi");
        model_answer answer;
        answer.invalid_blocks = 2;
        answer.invalid_block = "messages.1.content.0";
        return answer;
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(
        log.lines(),
        ::testing::ElementsAre(
            "warning thoughts that a model got back were not valid in the request run=r1 blocks=2",
            "debug text from the model server run=r1 upstream=messages.1.content.0"
        )
    );
}

TEST_F(AgentLoop, ThoughtsThatCannotBeSentBackAreLogged) {
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_text("Hi");
        model_answer answer;
        answer.has_lost_data = true;
        return answer;
    }}};

    play();

    EXPECT_THAT(
        log.lines(),
        ::testing::ElementsAre(
            "warning thoughts or blocks of an answer cannot be sent back as they came run=r1"
        )
    );
}

TEST_F(AgentLoop, MapsACallIdOfAnEarlierTurnToANewOne) {
    session::changes earlier;
    earlier.calls.push_back(
        {"c1", "weather", "r0", session::call_owner::server, call_status::answered, 0}
    );
    session::apply(*given, earlier);
    model.turns = {calls({{"c1", "change_background", "{}"}, {"", "change_background", "{}"}})};

    play();

    ASSERT_EQ(sink.end.pending_call_ids.size(), 2U);
    EXPECT_NE(sink.end.pending_call_ids[0], "c1");
    EXPECT_NE(sink.end.pending_call_ids[0], sink.end.pending_call_ids[1]);
}

TEST_F(AgentLoop, AnIdThatNoClientCouldSendBackIsReplaced) {
    const std::string longest(id_bytes_max, 'i');
    model.turns = {calls(
        {{longest, "change_background", "{}"},
         {longest + "i", "change_background", "{}"},
         {"a\nb", "change_background", "{}"}}
    )};

    play();

    ASSERT_EQ(sink.end.pending_call_ids.size(), 3U);
    EXPECT_EQ(sink.end.pending_call_ids[0], longest);
    EXPECT_TRUE(sink.end.pending_call_ids[1].starts_with("call_"));
    EXPECT_TRUE(sink.end.pending_call_ids[2].starts_with("call_"));
}

TEST_F(AgentLoop, ACallCutByLengthIsNeverHandedOff) {
    model.turns = {calls(
        {{"c1", "change_background", "{}"}, {"c2", "change_background", R"({"co)"}},
        finish_reason::length
    )};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::truncated);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());
    EXPECT_TRUE(sink.end.external_call_open);
    EXPECT_EQ(status_of("c1"), call_status::dead);
    EXPECT_EQ(status_of("c2"), call_status::dead);
}

TEST_F(AgentLoop, TextCutByLengthIsAStopAndKept) {
    model.turns = {says("Half a sen", finish_reason::length)};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_output_tokens);
    EXPECT_EQ(session::text_of(stored().nodes.at(1).message.content), "Half a sen");
}

TEST_F(AgentLoop, TranslatesEveryModelFailure) {
    const std::vector<std::pair<model_failure::kind, stop_reason>> rows = {
        {model_failure::kind::unavailable, stop_reason::model_unavailable},
        {model_failure::kind::lost, stop_reason::model_unavailable},
        {model_failure::kind::rejected, stop_reason::model_rejected},
        {model_failure::kind::timeout, stop_reason::model_timeout},
    };
    for (const auto& [what, reason] : rows) {
        SCOPED_TRACE(static_cast<int>(what));
        model.turns = {fails(what)};
        sink = {};

        play();

        EXPECT_EQ(sink.end.reason, reason);
        EXPECT_EQ(sink.finishes, 1);
    }
}

TEST_F(AgentLoop, AnUpstreamLostInsideACallIsATruncation) {
    model.turns = {{[](model_sink& sink) -> model_outcome {
        sink.on_call(0, "c1", "change_background");
        sink.on_call_arguments(0, "{\"co");
        return model_failure{model_failure::kind::lost, 200, "reset"};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::truncated);
    EXPECT_EQ(status_of("c1"), call_status::dead);
}

TEST_F(AgentLoop, AnExceptionOfTheProviderEndsTheRunAsAnError) {
    model.turns = {}; // A model without turns throws.

    play();

    EXPECT_EQ(sink.finishes, 1);
    EXPECT_EQ(sink.end.reason, stop_reason::error);
}

TEST_F(AgentLoop, AStoreThatFailsBeforeTheToolsRunEndsTheRun) {
    sink.fail_commit = 0;
    model.turns = {calls({{"c1", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    // The turn was shown. It is stored with the end, its call is dead, and the client gets a result
    // for the call.
    EXPECT_THAT(
        sink.steps,
        ::testing::Contains(
            R"(result c1 failed {"error":"The call was interrupted; whether it had any effect is unknown."})"
        )
    );
    EXPECT_EQ(stored().nodes.at(1).message.tool_calls.at(0).id, "c1");
    EXPECT_EQ(stored().find_call("c1")->status, session::call_status::dead);
}

TEST_F(AgentLoop, AStoreThatLosesAResultShowsNone) {
    sink.fail_commit = 1;
    model.turns = {calls({{"c1", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    EXPECT_THAT(sink.steps, ::testing::Not(::testing::Contains("result c1 sunny {}")));
}

TEST_F(AgentLoop, LetsTheThreadGoWhileTheModelAnswersAndLoadsItForTheNextRound) {
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sunny")};

    play();

    EXPECT_EQ(sink.loads, 1) << "once, before the second round";
    ASSERT_EQ(model.histories.size(), 2U);
    EXPECT_EQ(model.histories[1].size(), 3U) << "the question, the call and its result";
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(AgentLoop, ARunWhoseThreadCannotBeLoadedAgainEnds) {
    model.turns = {calls({{"c1", "weather", "{}"}})};
    sink.thread = [] {
        return failure{errc::store_unavailable, "gone", {}, {}};
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    EXPECT_EQ(status_of("c1"), call_status::answered);
}

TEST_F(AgentLoop, AThreadThatIsNotAsTheRunHasLeftItEndsTheRun) {
    model.turns = {calls({{"c1", "weather", "{}"}})};
    // The thread that is loaded lacks the run's own commits.
    sink.thread = [this] {
        return *given;
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
}

TEST_F(AgentLoop, OnAThreadOfVeryManyCallsEveryCallGetsAnIdOfItsOwn) {
    for (int i = 0; i < 1025; ++i) {
        given->calls.push_back({"old-" + std::to_string(i), "weather", "r0"});
    }
    model.turns = {calls({{"old-7", "change_background", "{}"}})};

    play();

    ASSERT_EQ(sink.end.pending_call_ids.size(), 1U);
    EXPECT_EQ(given->find_call(sink.end.pending_call_ids[0]), nullptr);
}

TEST_F(AgentLoop, AForcedToolChoiceHoldsForTheFirstCallOfAUserTurn) {
    request.agent.parameters.tool_choice = tool_choice{tool_choice::mode::required, {}};
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sunny")};

    play();

    ASSERT_EQ(model.choices.size(), 2U);
    ASSERT_TRUE(model.choices[0].has_value());
    EXPECT_EQ(model.choices[0]->kind, tool_choice::mode::required);
    EXPECT_FALSE(model.choices[1].has_value());
}

TEST_F(AgentLoop, AForcedToolChoiceDoesNotHoldForAToolAnswer) {
    request.agent.parameters.tool_choice = tool_choice{tool_choice::mode::required, {}};
    request.new_user_turn = false;
    model.turns = {says("Done")};

    play();

    EXPECT_FALSE(model.choices.at(0).has_value());
}

TEST_F(AgentLoop, AToolChoiceOfAMissingToolIsLeftOutWithAWarning) {
    request.agent.parameters.tool_choice = tool_choice{tool_choice::mode::named, "brush"};
    model.turns = {says("Done")};

    play();

    EXPECT_FALSE(model.choices.at(0).has_value());
    EXPECT_THAT(
        log.lines(),
        ::testing::ElementsAre(
            "warning tool_choice was left out because it names a tool that is not offered run=r1"
        )
    );
}

TEST_F(AgentLoop, AToolChoiceMayNameAToolAsModelServersDo) {
    request.external_tools.push_back({"calendar.create", "Adds an entry", {}});
    request.agent.parameters.tool_choice =
        tool_choice{tool_choice::mode::named, tool_names(nullptr).sent("calendar.create")};
    model.turns = {says("Done")};

    play();

    ASSERT_TRUE(model.choices.at(0).has_value());
    EXPECT_EQ(model.choices.at(0)->name, "calendar.create");
    EXPECT_TRUE(log.lines().empty());
}

TEST_F(AgentLoop, WithoutToolsThereIsNoChoice) {
    tools = tool_registry();
    request.external_tools.clear();
    for (const std::string choice : {"required", "auto", "none", "brush"}) {
        SCOPED_TRACE(choice);
        request.agent.parameters.tool_choice = tool_choice_from_string(choice);
        model.turns = {says("Done")};

        play();

        EXPECT_FALSE(model.choices.back().has_value());
    }
}

TEST_F(AgentLoop, ContextOfTheApplicationIsNeverSystemText) {
    request.agent.context = "Context given by the application:\n- page: 3";
    model.turns = {says("Hi")};

    play();

    ASSERT_EQ(model.histories.at(0).size(), 1U) << "roles alternate";
    EXPECT_EQ(model.histories[0][0].role, session::role::user);
    EXPECT_TRUE(
        session::text_of(model.histories[0][0].content).starts_with(request.agent.context + "\n\n")
    );
    EXPECT_EQ(stored().nodes.size(), 2U) << "context belongs to the request, not to the thread";
}

TEST_F(AgentLoop, SumsUsagePerModelAndKeepsAbsentCountsAbsent) {
    const auto with_usage = [](scripted_turn turn) {
        return scripted_turn{[turn](model_sink& sink) -> model_outcome {
            model_outcome outcome = turn.answer(sink);
            outcome->usage = token_usage{"openai", "m", 10, 5, {}, {}, {}};
            return outcome;
        }};
    };
    model.turns = {with_usage(calls({{"c1", "weather", "{}"}})), with_usage(says("Sunny"))};

    play();

    ASSERT_EQ(sink.end.usage.size(), 1U);
    EXPECT_EQ(sink.end.usage[0].input_tokens, 20);
    EXPECT_EQ(sink.end.usage[0].output_tokens, 10);
    EXPECT_FALSE(sink.end.usage[0].reasoning_tokens.has_value());
}

TEST_F(AgentLoop, ReasoningIsStoredBeforeTheAnswerAndKeptFromTheModel) {
    model.turns = {{[](model_sink& sink) -> model_outcome {
        sink.on_reasoning("Hm");
        sink.on_text("Hi");
        return model_answer{};
    }}};

    play();

    const session::thread_record thread = stored();
    EXPECT_EQ(thread.nodes.at(1).message.role, session::role::reasoning);
    EXPECT_EQ(thread.nodes.at(2).message.role, session::role::assistant);
    EXPECT_EQ(session::model_history(thread, 2).size(), 2U);
}

TEST_F(AgentLoop, WaitingForAnswersAsksNoModel) {
    request.next = session::next_step::wait_for_answers;
    request.snapshot = true;

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::partial_answers);
    EXPECT_EQ(sink.steps, (std::vector<std::string>{"snapshot 1", "finish"}));
}

TEST_F(AgentLoop, NothingNewSendsTheSnapshotThatTheClientMisses) {
    request.next = session::next_step::nothing;
    request.snapshot = true;

    play();

    EXPECT_EQ(sink.steps, (std::vector<std::string>{"snapshot 1", "finish"}));
    EXPECT_EQ(sink.end.reason, stop_reason::nothing_new);
}

TEST_F(AgentLoop, TheArgumentsOfACallAreCompleteAtItsEnd) {
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_call(0, "c1", "change_background");
        to.on_call_end(0);
        to.on_call(1, "c2", "change_background");
        to.on_text("Wait");
        to.on_call_arguments(1, "{ }");
        return model_answer{finish_reason::tool_calls, {}};
    }}};

    play();

    const std::vector<std::string> shown = {
        "call c1 change_background external",
        "args c1 {}",
        "ended c1",
        "call c2 change_background external",
        "text Wait",
        "args c2 { }",
        "turn ended",
    };
    const auto begin = std::ranges::find(sink.steps, shown.front());
    ASSERT_GE(sink.steps.end() - begin, std::ssize(shown));
    EXPECT_EQ(std::vector<std::string>(begin, begin + std::ssize(shown)), shown);
}

TEST_F(AgentLoop, ThoughtsThatDoNotGoBackAreLogged) {
    model.provider_name = "main";
    request.agent.parameters.model = "thinker-1";
    const auto answer = [](model_sink& to) -> model_outcome {
        to.on_turn_data("blocks", boost::json::array{"signed"});
        to.on_text("Hi");
        return model_answer{finish_reason::stop, {}};
    };
    model.turns = {{answer}, {answer}, {answer}};
    const auto again = [this] {
        *given = stored();
        sink.commits.clear();
        sink.steps.clear();
        play();
    };
    play();
    again();
    EXPECT_THAT(log.lines(), ::testing::IsEmpty());
    request.agent.instructions = "Be brief.";
    again();

    EXPECT_THAT(
        log.lines(),
        ::testing::ElementsAre("info thoughts of the last answer do not go back to their model "
                               "thread=t1 run=r1 element=messages[2]")
    );
}

TEST_F(AgentLoop, EachStretchOfReasoningIsAMessageAndTheOrderIsKept) {
    model.provider_name = "main";
    request.agent.parameters.model = "thinker-1";
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_turn_data("reasoning", "reasoning_content");
        to.on_reasoning("Hm");
        to.on_reasoning("?");
        to.on_text("Hel");
        to.on_reasoning("So.");
        to.on_text("lo");
        to.on_call(0, "c1", "change_background");
        to.on_call_arguments(0, "{}");
        to.on_call_data(0, {{"extra_content", "signed"}});
        return model_answer{finish_reason::tool_calls, {}};
    }}};

    play();

    const session::thread_record thread = stored();
    ASSERT_EQ(thread.nodes.size(), 4U);
    EXPECT_EQ(session::text_of(thread.nodes.at(1).message.content), "Hm?");
    EXPECT_EQ(session::text_of(thread.nodes.at(2).message.content), "So.");
    EXPECT_NE(thread.nodes.at(1).message.id, thread.nodes.at(2).message.id);
    const session::message& answer = thread.nodes.at(3).message;
    EXPECT_EQ(session::text_of(answer.content), "Hello");
    ASSERT_TRUE(answer.origin);
    using kind = session::turn_block::kind;
    session::turn_origin expected{
        "main",
        "thinker-1",
        {{kind::reasoning, thread.nodes.at(1).message.id, 0, nullptr},
         {kind::text, "", 3, nullptr},
         {kind::reasoning, thread.nodes.at(2).message.id, 0, nullptr},
         {kind::text, "", 2, nullptr},
         {kind::call, "c1", 0, boost::json::object{{"extra_content", "signed"}}}},
        {{"reasoning", "reasoning_content"}}
    };
    expected.prefix = answer.origin->prefix;
    EXPECT_FALSE(expected.prefix.empty());
    EXPECT_EQ(*answer.origin, expected);
    const std::vector<session::message> history = session::model_history(thread, 3);
    ASSERT_GE(history.size(), 4U);
    EXPECT_EQ(history[1].role, session::role::reasoning);
    EXPECT_EQ(history[2].role, session::role::reasoning);
    EXPECT_EQ(history[3].id, answer.id);
}

TEST_F(AgentLoop, AnAnswerThatSaysAllByItselfHasNoOrigin) {
    model.provider_name = "main";
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_text("Hello");
        to.on_call(0, "c1", "change_background");
        to.on_call_arguments(0, "{}");
        return model_answer{finish_reason::tool_calls, {}};
    }}};

    play();

    EXPECT_FALSE(stored().nodes.at(1).message.origin);
}

TEST_F(AgentLoop, AnIdThatOnlyItsServerTakesIsStoredWithItsOrigin) {
    model.provider_name = "main";
    request.agent.parameters.model = "kimi";
    model.turns = {calls({{"functions.change_background:0", "change_background", "{}"}})};

    play();

    const auto origin = stored().nodes.at(1).message.origin;
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->provider, "main");
    EXPECT_EQ(origin->model, "kimi");
}

} // namespace
} // namespace agui::runner
