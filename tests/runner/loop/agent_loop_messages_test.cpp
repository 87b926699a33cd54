// User messages that come while a run is active.
#include "tests/runner/loop/agent_loop_fixture.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace agui::runner {
namespace {

using session::call_status;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

session::message sent(std::string id, std::string text) {
    session::message made;
    made.id = std::move(id);
    made.content = std::move(text);
    return made;
}

class AgentLoopMessages : public AgentLoop {
protected:
    /// A message comes when the run takes that step.
    void message_at(std::string step, session::message what) {
        sink.on_step = [this, step = std::move(step),
                        what = std::move(what)](const std::string& at) {
            if (at == step) {
                sink.waiting.push_back(what);
            }
        };
    }

    std::vector<std::string> branch() {
        const session::thread_record thread = stored();
        std::vector<std::string> texts;
        for (const session::node_index at : thread.path(thread.branches[0].tip)) {
            const session::message& each = thread.nodes[at].message;
            texts.push_back(
                each.role == session::role::user ? each.id : std::string(to_string(each.role))
            );
        }
        return texts;
    }
};

TEST_F(AgentLoopMessages, AreTakenAfterTheResultsOfARound) {
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Snow.")};
    message_at("executing c1", sent("u2", "In Ulm"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(branch(), ElementsAre("u1", "assistant", "tool", "u2", "assistant"));
    ASSERT_EQ(model.histories.size(), 2U);
    EXPECT_EQ(model.histories[1].back().id, "u2");
    EXPECT_THAT(
        sink.steps, ElementsAre(
                        "call c1 weather server", "args c1 {}", "turn ended", "commit",
                        "executing c1", "commit", "result c1 sunny {}", "commit", "snapshot 4",
                        "text Snow.", "turn ended", "finish"
                    )
    ) << "the messages are stored before they are shown";
}

TEST_F(AgentLoopMessages, AreTakenInsteadOfTheEnd) {
    model.turns = {says("Hello."), says("And more.")};
    message_at("text Hello.", sent("u2", "More"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(branch(), ElementsAre("u1", "assistant", "u2", "assistant"));
    EXPECT_THAT(
        sink.steps, ElementsAre(
                        "text Hello.", "turn ended", "commit", "commit", "snapshot 3",
                        "text And more.", "turn ended", "finish"
                    )
    );
}

TEST_F(AgentLoopMessages, AreTakenBeforeTheFirstAnswer) {
    model.turns = {says("Hello.")};
    sink.waiting = {sent("u2", "More"), sent("u3", "And more")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(branch(), ElementsAre("u1", "u2", "u3", "assistant"));
}

TEST_F(AgentLoopMessages, AreNotTakenByAHandOff) {
    model.turns = {calls({{"c1", "weather", "{}"}, {"c2", "change_background", "{}"}})};
    message_at("executing c1", sent("u2", "More"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.waiting.size(), 1U);
    EXPECT_EQ(status_of("c2"), call_status::pending);
}

TEST_F(AgentLoopMessages, AreNotTakenByAStoppedRun) {
    model.turns = {says("Hello."), says("Never.")};
    sink.on_step = [this](const std::string& at) {
        if (at == "text Hello.") {
            sink.waiting.push_back(sent("u2", "More"));
        }
        if (at == "commit") {
            (void)stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(sink.waiting.size(), 1U);
    EXPECT_THAT(branch(), ElementsAre("u1", "assistant")) << "the answer was stored once";
}

TEST_F(AgentLoopMessages, AreNotTakenByARunThatFails) {
    model.turns = {fails(model_failure::kind::rejected)};
    sink.on_step = [this](const std::string& at) {
        if (at == "finish") {
            EXPECT_EQ(sink.waiting.size(), 1U);
        }
    };
    model.turns[0].answer = [this](model_sink&) -> model_outcome {
        sink.waiting.push_back(sent("u2", "More"));
        return model_failure{model_failure::kind::rejected, 400, "why"};
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::model_rejected);
    EXPECT_EQ(sink.waiting.size(), 1U);
}

TEST_F(AgentLoopMessages, AreNotTakenAfterTheLastRound) {
    request.agent.max_rounds = 1;
    model.turns = {says("One."), says("Two.")};
    sink.on_step = [this](const std::string& at) {
        if (at.starts_with("text")) {
            sink.waiting.push_back(sent("u" + std::to_string(sink.commits.size() + 2), "More"));
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(sink.waiting.size(), 1U);
    EXPECT_THAT(branch(), ElementsAre("u1", "assistant", "u2", "assistant"));
}

TEST_F(AgentLoopMessages, AreNotTakenWithoutTokensLeft) {
    request.agent.limits.max_tokens = 1;
    model.turns = {says("A long answer.")};
    message_at("text A long answer.", sent("u2", "More"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(sink.waiting.size(), 1U);
}

TEST_F(AgentLoopMessages, MayBeWithdrawnUntilTheyAreTaken) {
    model.turns = {says("Hello."), says("Never.")};
    message_at("text Hello.", sent("u2", "More"));
    sink.withdraws = true;

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(branch(), ElementsAre("u1", "assistant"));
    EXPECT_EQ(model.turns.size(), 1U) << "the model is not asked again";
}

TEST_F(AgentLoopMessages, ThatCannotBeTakenAreLeftOut) {
    for (const errc why : {errc::conflict, errc::run_id_reused}) {
        model.turns = {calls({{"c1", "weather", "{}"}}), says("Snow.")};
        sink = recording_sink();
        sink.thread = [this] {
            return stored();
        };
        sink.fail_commit = 2;
        sink.fails_with = why;
        message_at("executing c1", sent("u2", "In Ulm"));

        play();

        EXPECT_EQ(sink.end.reason, stop_reason::completed);
        EXPECT_THAT(branch(), ElementsAre("u1", "assistant", "tool", "assistant"));
        EXPECT_THAT(sink.steps, Not(Contains("snapshot 4")));
    }
}

TEST_F(AgentLoopMessages, ThatCannotBeStoredEndTheRun) {
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Never.")};
    sink.fail_commit = 2;
    message_at("executing c1", sent("u2", "In Ulm"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    EXPECT_EQ(model.turns.size(), 1U);
}

TEST_F(AgentLoopMessages, WaitUntilTheModelHasGoneOnAfterAPause) {
    model.turns = {says("First", finish_reason::pause), says(", second."), says("Third.")};
    message_at("text First", sent("u2", "More"));

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(branch(), ElementsAre("u1", "assistant", "assistant", "u2", "assistant"));
}

} // namespace
} // namespace agui::runner
