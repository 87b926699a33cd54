#include "runner/loop/prefix_watch.hpp"
#include "session/history/turn_failure.hpp"
#include "tests/runner/loop/agent_loop_fixture.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace agui::runner {
namespace {

using kind = model_failure::kind;
using state = model_circuit::state;

/// Two models, each with a circuit that opens after two outages.
class Circuit : public AgentLoop {
protected:
    Circuit() {
        model.provider_name = "first";
        model.own_circuit = make("first");
        second.provider_name = "second";
        second.own_circuit = make("second");
        request.fallbacks = {{&second, {}}};
    }

    std::shared_ptr<model_circuit> make(std::string name) {
        return std::make_shared<model_circuit>(
            model_circuit::settings{.model = std::move(name), .failures = 2}, time, log
        );
    }

    static void open(const std::shared_ptr<model_circuit>& circuit) {
        for (int i = 0; i < 2; ++i) {
            model_circuit::begin(circuit).failed({kind::unavailable, 503, "down"});
        }
    }

    void play_anew() {
        sink.commits.clear();
        play();
    }

    fake_model second;
};

TEST_F(Circuit, OpensByTheFailuresOfRunsAndThenAsksTheOtherModelFirst) {
    for (int i = 0; i < 2; ++i) {
        model.turns = {fails(kind::unavailable)};
        second.turns = {says("Hi")};
        play_anew();
    }
    ASSERT_EQ(model.own_circuit->now().now, state::open);

    second.turns = {says("Hi")};
    play_anew();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(model.histories.size(), 2U) << "not asked";
}

TEST_F(Circuit, TheOnlyModelIsAskedThoughItsCircuitIsOpen) {
    request.fallbacks.clear();
    open(model.own_circuit);
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(model.own_circuit->now().now, state::closed) << "it has answered";
}

TEST_F(Circuit, AnOpenModelIsAskedAfterAllOthersHaveFailed) {
    open(model.own_circuit);
    second.turns = {fails(kind::timeout)};
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(second.histories.size(), 1U);
}

TEST_F(Circuit, TheConfiguredOrderStaysIfAllAreOpen) {
    open(model.own_circuit);
    open(second.own_circuit);
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_TRUE(second.histories.empty());
}

TEST_F(Circuit, ARunIsTheProbeAfterThePause) {
    open(model.own_circuit);
    time.advance(std::chrono::seconds(30));
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(model.own_circuit->now().now, state::closed);
}

TEST_F(Circuit, AProbeEndsWhereItsAnswerBegins) {
    open(model.own_circuit);
    time.advance(std::chrono::seconds(30));
    state then = state::off;
    model.turns = {{[&](model_sink& out) -> model_outcome {
        out.on_begin();
        then = model.own_circuit->now().now;
        out.on_text("Half");
        return model_failure{kind::lost, 200, "cut"};
    }}};

    play();

    EXPECT_EQ(then, state::closed);
    EXPECT_EQ(model.own_circuit->now().now, state::open) << "the answer broke off";
}

TEST_F(Circuit, ARequestThatIsRefusedIsNoFailure) {
    for (int i = 0; i < 2; ++i) {
        model.turns = {fails(kind::rejected)};
        second.turns = {says("Hi")};
        play_anew();
    }
    EXPECT_EQ(model.own_circuit->now().failures, 0U);
}

TEST_F(Circuit, AStopIsNoFailure) {
    model.turns = {{[this](model_sink&) -> model_outcome {
        (void)stop.request(stop_reason::cancelled);
        return model_failure{kind::unavailable, 503, "too late"};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(model.own_circuit->now().failures, 0U);
}

TEST_F(Circuit, EachRepetitionOfACallCounts) {
    request.fallbacks.clear();
    const scripted_turn busy{[](model_sink&) -> model_outcome {
        return model_failure{kind::unavailable, 503, "busy", {}, std::chrono::seconds(0)};
    }};
    model.turns = {busy, busy, busy};

    play();

    EXPECT_EQ(model.histories.size(), 3U) << "an open circuit ends no repetition";
    EXPECT_EQ(model.own_circuit->now().now, state::open);
}

scripted_turn refuses_the_content() {
    return {[](model_sink&) -> model_outcome {
        return model_failure{kind::rejected, 400, "why"};
    }};
}

TEST_F(Circuit, AnOpenModelsOutageDoesNotHideARefusalOfTheContent) {
    open(model.own_circuit);
    second.turns = {refuses_the_content()};
    model.turns = {fails(kind::unavailable)};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::model_rejected);
    EXPECT_EQ(sink.end.about.status, 400);
    EXPECT_TRUE(session::is_refusal_note(stored().nodes.back().message));
    EXPECT_EQ(sink.attempts.size(), 2U);
}

TEST_F(Circuit, TheContentThatWasRefusedIsNotComparedWithLaterRequests) {
    prefix_watch watch;
    prefixes = &watch;
    open(model.own_circuit);
    second.turns = {refuses_the_content()};
    model.turns = {fails(kind::unavailable)};

    play();

    EXPECT_FALSE(watch.last_tip(request.key));
}

TEST_F(Circuit, AnyOtherFailureOfAnotherModelLeavesTheRefusalOpen) {
    open(model.own_circuit);
    second.turns = {refuses_the_content()};
    model.turns = {{[](model_sink&) -> model_outcome {
        return model_failure{kind::unavailable, 429, "busy"};
    }}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::model_unavailable);
    EXPECT_FALSE(session::is_refusal_note(stored().nodes.back().message)) << "it might take it";
}

} // namespace
} // namespace agui::runner
