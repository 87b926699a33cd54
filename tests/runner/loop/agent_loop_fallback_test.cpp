#include "runner/loop/prefix_watch.hpp"
#include "session/history/turn_failure.hpp"
#include "tests/runner/loop/agent_loop_fixture.hpp"
#include "tests/support/thread_builder.hpp"

#include <boost/asio/post.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>

#include <chrono>

namespace agui::runner {
namespace {

scripted_turn fails_after(int seconds) {
    return {[=](model_sink&) -> model_outcome {
        return model_failure{
            model_failure::kind::unavailable, 429, "busy", {}, std::chrono::seconds(seconds)
        };
    }};
}

class Fallback : public AgentLoop {
protected:
    Fallback() {
        model.provider_name = "first";
        second.provider_name = "second";
        third.provider_name = "third";
        request.fallbacks = {{&second, {}}, {&third, {}}};
        request.fallbacks[0].parameters.model = "two";
    }

    fake_model second;
    fake_model third;
};

TEST_F(Fallback, TheNextModelAnswersAfterAnyFailure) {
    using kind = model_failure::kind;
    for (const kind what : {kind::unavailable, kind::rejected, kind::timeout, kind::lost}) {
        model.turns = {fails(what)};
        second.turns = {says("Hi")};
        second.histories.clear();
        sink.steps.clear();
        sink.commits.clear();

        play();

        EXPECT_EQ(sink.end.reason, stop_reason::completed);
        EXPECT_EQ(sink.steps, (std::vector<std::string>{"text Hi", "turn ended", "finish"}));
        ASSERT_EQ(second.histories.size(), 1U);
        EXPECT_EQ(second.histories[0].size(), 1U) << "the request is built anew";
    }
    EXPECT_TRUE(third.histories.empty());
}

// They say nothing of the answer, so the next model may be asked.
TEST_F(Fallback, HostedToolsAreActivitiesThatEndWithTheAnswer) {
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_hosted_tool("a", "web_search", hosted_tool::running);
        to.on_hosted_tool("b", "code", hosted_tool::running);
        to.on_hosted_tool("a", {}, hosted_tool::failed);
        return model_failure{model_failure::kind::lost, 0, "why"};
    }}};
    second.turns = {{[](model_sink& to) -> model_outcome {
        to.on_hosted_tool("a", "web_search", hosted_tool::running);
        to.on_hosted_tool("a", {}, hosted_tool::completed);
        to.on_hosted_tool("a", {}, hosted_tool::completed);
        to.on_hosted_tool("b", {}, hosted_tool::completed);
        to.on_text("Hi");
        return model_answer{finish_reason::stop, {}};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(sink.steps, ::testing::Contains("text Hi"));
    std::vector<std::string> shown;
    for (const session::stored_message& each : stored().nodes) {
        if (each.message.role == session::role::activity) {
            EXPECT_EQ(each.message.activity_type, "hosted-tool");
            shown.push_back(boost::json::serialize(each.message.activity));
        }
    }
    EXPECT_EQ(
        shown, (std::vector<std::string>{
                   R"({"tool":"web_search","status":"failed"})",
                   R"({"tool":"code","status":"incomplete"})",
                   R"({"tool":"web_search","status":"completed"})"
               })
    );
}

// No model has failed, so none is recorded, and another one would be refused in the same way.
TEST_F(Fallback, NoModelIsAskedAfterAQuotaIsUsedUp) {
    using kind = model_failure::kind;
    const std::pair<kind, stop_reason> ends[] = {
        {kind::over_quota, stop_reason::quota_exceeded},
        {kind::uncounted, stop_reason::store_unavailable}
    };
    for (const auto& [what, end] : ends) {
        model.turns = {fails(what)};
        sink.steps.clear();
        sink.commits.clear();

        play();

        EXPECT_EQ(sink.end.reason, end);
        EXPECT_EQ(sink.steps, (std::vector<std::string>{"finish"}));
        EXPECT_TRUE(second.histories.empty());
        EXPECT_TRUE(sink.attempts.empty());
    }
}

TEST_F(Fallback, TheLastFailureIsTheRunsEnd) {
    model.turns = {fails(model_failure::kind::timeout)};
    second.turns = {fails(model_failure::kind::unavailable)};
    third.turns = {fails(model_failure::kind::rejected)};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::model_rejected);
    EXPECT_EQ(sink.steps, (std::vector<std::string>{"finish"}));
    ASSERT_EQ(stored().nodes.size(), 2U) << "nothing was said";
    EXPECT_TRUE(session::is_failure_note(stored().nodes[1].message));
}

scripted_turn refuses(int status) {
    return {[=](model_sink&) -> model_outcome {
        return model_failure{model_failure::kind::rejected, status, "in our words", "theirs"};
    }};
}

// The note that the run has left at the end of its branch.
session::message note_of(const session::thread_record& thread) {
    const session::message& last = thread.nodes[thread.branches.at(0).tip].message;
    return session::is_failure_note(last) ? last : session::message();
}

TEST_F(Fallback, AFailedRunLeavesANoteInTheThread) {
    model.turns = {says("Half", finish_reason::content_filter)};

    play();

    const session::message note = note_of(stored());
    EXPECT_EQ(note.id, stored().nodes[1].message.id) << "about the answer that was not finished";
    EXPECT_EQ(note.activity.at("code").as_string(), "content_filtered");
    EXPECT_EQ(note.activity.at("message").as_string(), describe(stop_reason::content_filtered));
    EXPECT_FALSE(session::is_refusal_note(note));
}

TEST_F(Fallback, NoModelIsSentARefusedAnswerOrItsQuestionAgain) {
    model.turns = {says("I could", finish_reason::refusal)};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::content_filtered);
    EXPECT_TRUE(session::is_refusal_note(note_of(stored())));
    EXPECT_EQ(session::text_of(stored().nodes[1].message.content), "I could") << "as it was shown";

    *given = stored();
    sink.commits.clear();
    session::changes change;
    session::stored_message asked;
    asked.parent = given->branches.at(0).tip;
    asked.message.id = "u2";
    asked.message.content = std::string("Another question");
    change.messages.push_back(asked);
    change.branches.push_back({0, {static_cast<session::node_index>(given->nodes.size()), 0}});
    session::apply(*given, change);
    request.run_id = "r2";
    model.turns = {says("Fine")};
    play();

    std::vector<std::string> sent;
    for (const session::message& each : model.histories.back()) {
        sent.push_back(session::text_of(each.content));
    }
    EXPECT_EQ(
        sent, (std::vector<std::string>{
                  "[left out: the model server refused this message]", "Another question"
              })
    );
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(Fallback, ARunThatWasStoppedOrHasSucceededLeavesNone) {
    model.turns = {says("Hi")};
    play();
    EXPECT_TRUE(note_of(stored()).id.empty());

    sink.commits.clear();
    model.turns = {says("Cut", finish_reason::length)};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::max_output_tokens);
    EXPECT_TRUE(note_of(stored()).id.empty());
}

TEST_F(AgentLoop, OnlyARefusedContentLetsTheRequestBeforeCountAgain) {
    for (const int status : {400, 401, 404, 413}) {
        SCOPED_TRACE(status);
        prefix_watch watch;
        prefixes = &watch;
        model.turns = {refuses(status)};
        sink.commits.clear();

        play();

        const bool is_forgotten = !watch.last_tip(request.key);
        EXPECT_EQ(is_forgotten, status == 400 || status == 413);
    }
}

TEST_F(Fallback, TheLastModelsRefusalIsNoted) {
    model.turns = {fails(model_failure::kind::timeout)};
    second.turns = {fails(model_failure::kind::unavailable)};
    third.turns = {refuses(400)};
    play();
    EXPECT_TRUE(session::is_refusal_note(note_of(stored())));

    sink.commits.clear();
    model.turns = {refuses(400)};
    second.turns = {refuses(400)};
    third.turns = {fails(model_failure::kind::unavailable)};
    play();
    EXPECT_FALSE(session::is_refusal_note(note_of(stored())))
        << "another model might have taken it";
}

// Returns "MODEL STATUS REQUEST_ID BODY" for each attempt.
std::vector<std::string> lines_of(const std::vector<session::failed_attempt>& attempts) {
    std::vector<std::string> lines;
    for (const session::failed_attempt& each : attempts) {
        lines.push_back(
            each.model + " " + std::to_string(each.status) + " " + each.request_id + " " + each.body
        );
    }
    return lines;
}

TEST_F(Fallback, EachFailedAttemptIsKept) {
    const auto refuses = [](int status, std::string id) -> scripted_turn {
        return {[=](model_sink&) -> model_outcome {
            model_failure failed{model_failure::kind::rejected, status, "in our words", "theirs"};
            failed.request_id = id;
            return failed;
        }};
    };
    const auto is_busy = [](int status) -> scripted_turn {
        return {[=](model_sink&) -> model_outcome {
            return model_failure{
                model_failure::kind::unavailable, status, "", "wait", std::chrono::seconds(0)
            };
        }};
    };
    model.turns = {refuses(400, "req_1")};
    second.turns = {fails(model_failure::kind::timeout)};
    third.turns = {is_busy(429), is_busy(503), says("Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    const std::vector<std::string> expected{
        "first 400 req_1 theirs", "second 0  ", "third 429  wait", "third 503  wait"
    };
    EXPECT_EQ(lines_of(sink.attempts), expected);
    EXPECT_EQ(sink.attempts.at(0).at, time.now());
    EXPECT_EQ(sink.steps, (std::vector<std::string>{"text Hi", "turn ended", "finish"}))
        << "nothing of it is shown";
}

TEST_F(Fallback, AnAttemptThatBreaksOffIsKeptAndOneThatIsStoppedIsNot) {
    model.turns = {{[](model_sink& out) -> model_outcome {
        out.on_text("He");
        return model_failure{model_failure::kind::lost, 200, "cut"};
    }}};
    play();
    EXPECT_EQ(lines_of(sink.attempts), std::vector<std::string>{"first 200  "});

    sink.attempts.clear();
    model.turns = {{[](model_sink&) -> model_outcome {
        return model_failure{model_failure::kind::cancelled, 0, "cancelled"};
    }}};
    play();
    EXPECT_TRUE(sink.attempts.empty());
}

TEST_F(Fallback, AnAnswerThatHasBegunIsNotReplaced) {
    model.turns = {{[](model_sink& out) -> model_outcome {
        out.on_text("He");
        return model_failure{model_failure::kind::lost, 0, "cut"};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::model_unavailable);
    EXPECT_TRUE(second.histories.empty());
}

TEST_F(Fallback, TheModelThatAnsweredIsAskedFirstInTheWholeTurn) {
    model.turns = {fails(model_failure::kind::unavailable)};
    second.turns = {calls({{"c1", "weather", "{}"}}), calls({{"c2", "change_background", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(model.histories.size(), 1U);
    EXPECT_EQ(second.histories.size(), 2U);

    // The hand-off is answered by another run of the same turn.
    *given = stored();
    request.new_user_turn = false;
    sink.commits.clear();
    second.turns = {fails(model_failure::kind::unavailable)};
    model.turns = {says("Done")};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(second.histories.size(), 3U) << "asked first again";
    EXPECT_EQ(model.histories.size(), 2U) << "then the others as configured";
}

TEST_F(Fallback, ANewTurnBeginsWithTheFirstModel) {
    model.turns = {fails(model_failure::kind::unavailable)};
    second.turns = {says("Hi")};
    play();
    *given = stored();
    session::changes asked;
    session::stored_message node;
    node.parent = 1;
    node.message.id = "u2";
    node.message.content = std::string("And?");
    asked.messages.push_back(node);
    asked.branches.push_back({0, {2, 0}});
    session::apply(*given, asked);
    sink.commits.clear();
    model.turns = {says("Hello")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(model.histories.size(), 2U);
}

TEST_F(Fallback, AStopAsksNoFurtherModel) {
    model.turns = {{[this](model_sink&) -> model_outcome {
        (void)stop.request(stop_reason::cancelled);
        return model_failure{model_failure::kind::cancelled, 0, {}};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_TRUE(second.histories.empty());
}

TEST_F(AgentLoop, TheOnlyModelIsAskedAgainWhenItSaysSo) {
    model.turns = {fails_after(0), fails_after(0), says("Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(model.histories.size(), 3U);
}

TEST_F(Fallback, AModelThatSaysSoIsAskedAgainAfterTheOthersHaveFailed) {
    model.turns = {fails_after(0), says("Hi")};
    second.turns = {fails(model_failure::kind::timeout)};
    third.turns = {fails(model_failure::kind::unavailable)};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(model.histories.size(), 2U);
    EXPECT_EQ(third.histories.size(), 1U);
}

TEST_F(AgentLoop, AModelIsNotAskedAgainForEverNorAfterALongTime) {
    model.turns = {fails_after(0), fails_after(0), fails_after(0)};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::model_unavailable);
    EXPECT_EQ(model.histories.size(), 3U);

    model.turns = {fails_after(11)};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::model_unavailable);
    EXPECT_EQ(model.histories.size(), 4U);
}

TEST_F(AgentLoop, ARefusedRequestIsNotRepeated) {
    model.turns = {{[](model_sink&) -> model_outcome {
        return model_failure{
            model_failure::kind::rejected, 400, "why", {}, std::chrono::seconds(0)
        };
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::model_rejected);
    EXPECT_EQ(model.histories.size(), 1U);
}

TEST_F(AgentLoop, AStopEndsTheWaitForAModel) {
    model.turns = {{[this](model_sink&) -> model_outcome {
        boost::asio::post(context(), [this] { (void)stop.request(stop_reason::cancelled); });
        return model_failure{
            model_failure::kind::unavailable, 503, "busy", {}, std::chrono::seconds(10)
        };
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(model.histories.size(), 1U);
}

TEST_F(Fallback, EachModelIsToldAToolThatCameInsideTheTurnInItsWay) {
    request.agent.tool_patterns = {"weather"};
    request.agent.late_tools = {"change_background"};
    request.agent.adds_tools = true;
    model.has_bound_tools = true;
    second.has_bound_tools = true;
    second.takes_added_tools = true;
    model.turns = {fails(model_failure::kind::unavailable)};
    second.turns = {fails(model_failure::kind::unavailable)};
    third.turns = {says("Hi")};

    play();

    using names = std::vector<std::string>;
    EXPECT_EQ(model.offered.at(0), names{"weather"}) << "its list may not change now";
    EXPECT_EQ(second.offered.at(0), (names{"weather", "change_background"}));
    EXPECT_EQ(third.offered.at(0), (names{"weather", "change_background"}));
    EXPECT_EQ(model.added, std::vector<bool>{false});
    EXPECT_EQ(second.added, std::vector<bool>{true});
    EXPECT_EQ(third.added, std::vector<bool>{false});
}

TEST_F(Fallback, AToolThatAnotherModelHasCalledInsideTheTurnIsDeclared) {
    test::thread_builder turn;
    turn.user("u1", "Hello").assistant("a1", "", {test::call("c1", "change_background")});
    turn.answer("c1", "done");
    *given = turn.build();
    request.new_user_turn = false;
    request.agent.tool_patterns = {"weather"};
    request.agent.late_tools = {"change_background"};
    request.agent.adds_tools = true;
    model.takes_added_tools = true;
    second.has_bound_tools = true;
    model.turns = {fails(model_failure::kind::unavailable)};
    second.turns = {says("Hi")};

    play();

    ASSERT_EQ(second.offered.size(), 1U);
    EXPECT_EQ(second.offered[0], (std::vector<std::string>{"weather", "change_background"}));
}

} // namespace
} // namespace agui::runner
