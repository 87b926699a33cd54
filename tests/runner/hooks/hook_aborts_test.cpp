#include "tests/runner/hooks/hooks_fixture.hpp"

namespace agui::runner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

boost::asio::awaitable<void> abort_turn() {
    throw turn_aborted();
    co_return;
}

// From here on, the coroutine ignores its cancellation.
auto ignore_cancellation() {
    return boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
}

boost::asio::awaitable<void> hold_for_ever() {
    co_await ignore_cancellation();
    co_await hold_until_cancelled();
}

class HookAborts : public Hooks {
protected:
    HookAborts() {
        a->clean_up_with();
        b->clean_up_with();
        model.turns = {says("Hi")};
    }

    boost::asio::awaitable<void> stop_and_hold() {
        (void)stop.request(stop_reason::superseded);
        co_await hold_until_cancelled();
        throw std::runtime_error("thrown after the stop");
    }

    boost::asio::awaitable<void> stop_and_ignore() {
        (void)stop.request(stop_reason::superseded);
        co_await hold_for_ever();
    }

    // Checks that on_turn_end and the clean-ups have run.
    void expect_aborted(stop_reason reason) {
        EXPECT_EQ(sink.finishes, 1);
        EXPECT_EQ(sink.end.reason, reason);
        EXPECT_EQ(noted("A end"), 1);
        EXPECT_EQ(noted("B end"), 1);
        EXPECT_EQ(noted("A clean-up"), 1);
        EXPECT_EQ(noted("B clean-up"), 1);
        EXPECT_THAT(log.lines(), IsEmpty()) << "an abort is no error";
    }

    boost::asio::steady_timer later{context(), boost::asio::steady_timer::time_point::max()};
};

TEST_F(HookAborts, AStopDuringAStartSkipsTheEndOfTheTurn) {
    b->start = [this](plugin_turn&) -> boost::asio::awaitable<turn_clean_up> {
        co_await stop_and_hold();
        co_return turn_clean_up();
    };

    play();

    EXPECT_THAT(journal, ElementsAre("A start", "B start", "A clean-up", "finish"));
    EXPECT_EQ(sink.end.reason, stop_reason::superseded);
    EXPECT_THAT(log.lines(), IsEmpty());
}

TEST_F(HookAborts, ACleanUpThatComesTooLateRunsByItself) {
    b->start = [this](plugin_turn&) -> boost::asio::awaitable<turn_clean_up> {
        (void)stop.request(stop_reason::cancelled);
        co_await ignore_cancellation();
        co_await later.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        co_return [this]() -> boost::asio::awaitable<void> {
            co_await yield();
            b->note("cleaned up");
        };
    };

    play();
    EXPECT_EQ(noted("B cleaned up"), 0);
    later.cancel();
    run_until([this] { return noted("B cleaned up") > 0; });

    EXPECT_EQ(noted("B cleaned up"), 1);
}

TEST_F(HookAborts, AStopDuringBeforeRequest) {
    a->before = [this](request_draft&) {
        return stop_and_hold();
    };

    play();

    expect_aborted(stop_reason::superseded);
    EXPECT_EQ(noted("B before"), 0);
    EXPECT_TRUE(model.histories.empty());
}

TEST_F(HookAborts, AStopDuringStreamData) {
    a->stream = [this](const session::message&, const stream_data&) {
        (void)stop.request(stop_reason::superseded);
    };
    model.turns.front().hold = true;

    play();

    expect_aborted(stop_reason::superseded);
    EXPECT_EQ(noted("A after"), 0);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi"));
}

TEST_F(HookAborts, AStopDuringAfterRequest) {
    a->after = [this](after_request& request) -> boost::asio::awaitable<void> {
        request.append(message_of(session::role::user, "At once"));
        request.append(message_of(session::role::user, "Later"), {.deferred = true});
        co_await yield();
        co_await yield();
        co_await stop_and_hold();
    };
    b->after = [](after_request&) {
        return hold_until_cancelled();
    };

    play();

    expect_aborted(stop_reason::superseded);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi", "user At once"));
}

TEST_F(HookAborts, AStopDuringMessageAppend) {
    a->append = [this](appended_message&) -> boost::asio::awaitable<void> {
        co_await stop_and_hold();
    };
    model.turns = {calls({{"c1", "weather", "{}"}})};

    play();

    expect_aborted(stop_reason::superseded);
    EXPECT_EQ(status_of("c1"), session::call_status::dead);
    EXPECT_THAT(
        sink.steps,
        Contains(
            R"(result c1 failed {"error":"The call was interrupted; whether it had any effect is unknown."})"
        )
    );
}

// A stop must not store a part that a plugin is about to remove.
TEST_F(HookAborts, AStopLetsMessageAppendEnd) {
    a->append = [this](appended_message& value) -> boost::asio::awaitable<void> {
        (void)stop.request(stop_reason::superseded);
        co_await yield();
        value.message.content = std::string("[cut]");
    };
    b->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        value.message.content = session::text_of(value.message.content) + " twice";
        co_return;
    };

    play();

    expect_aborted(stop_reason::superseded);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant [cut] twice"));
}

TEST_F(HookAborts, AStopWhileAResultIsStoredLetsMessageAppendEnd) {
    a->append = [this](appended_message& value) -> boost::asio::awaitable<void> {
        if (value.message.role == session::role::tool) {
            (void)stop.request(stop_reason::superseded);
            co_await yield();
            value.message.content = std::string("[cut]");
        }
    };
    model.turns = {calls({{"c1", "weather", "{}"}})};

    play();

    expect_aborted(stop_reason::superseded);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant ", "tool [cut]"));
}

TEST_F(HookAborts, AMessageThatIsAppendedAtAStopIsSeenByThePlugins) {
    a->after = [this](after_request& request) -> boost::asio::awaitable<void> {
        request.append(message_of(session::role::user, "Secret"));
        co_await stop_and_hold();
    };
    b->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        if (value.message.role == session::role::user) {
            value.message.content = std::string("[cut]");
        }
        co_return;
    };

    play();

    expect_aborted(stop_reason::superseded);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi", "user [cut]"));
}

TEST_F(HookAborts, AStopDuringTheEndOfTheTurn) {
    a->end = [this](stop_reason) {
        return stop_and_hold();
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::superseded);
    EXPECT_EQ(noted("B end"), 0);
    EXPECT_EQ(noted("A clean-up"), 1);
    EXPECT_EQ(noted("B clean-up"), 1);
}

TEST_F(HookAborts, AStopDuringACleanUpLetsItEnd) {
    b->clean_up_with([this]() -> boost::asio::awaitable<void> {
        (void)stop.request(stop_reason::superseded);
        co_await yield();
        b->note("cleaned up");
    });

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::superseded);
    EXPECT_EQ(noted("B cleaned up"), 1);
    EXPECT_EQ(noted("A clean-up"), 1);
}

TEST_F(HookAborts, AStopWhileAToolRuns) {
    tools.add({"slow", "", {}}, [this](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        co_await stop_and_ignore();
        co_return tool_outcome{};
    });
    model.turns = {calls({{"c1", "slow", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::superseded);
    EXPECT_EQ(noted("A end"), 1);
    EXPECT_EQ(noted("A clean-up"), 1);
}

TEST_F(HookAborts, AHookThatIgnoresAStopIsNotWaitedFor) {
    a->before = [this](request_draft&) {
        return stop_and_ignore();
    };

    play(); // The run would not end otherwise.

    expect_aborted(stop_reason::superseded);
}

TEST_F(HookAborts, HooksSideBySideThatIgnoreAStopAreNotWaitedFor) {
    a->after = [this](after_request&) {
        return stop_and_ignore();
    };
    b->after = [](after_request&) {
        return hold_for_ever();
    };

    play();

    expect_aborted(stop_reason::superseded);
}

TEST_F(HookAborts, TheEndOfAStoppedTurnIsNotWaitedForLong) {
    a->before = [this](request_draft&) {
        return stop_and_hold();
    };
    a->end = [](stop_reason) {
        return hold_for_ever();
    };
    b->clean_up_with([] { return hold_for_ever(); });

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::superseded);
    EXPECT_EQ(noted("A clean-up"), 1);
    EXPECT_THAT(log.lines(), Contains("warning a plugin's clean-up did not finish in time run=r1"));
}

TEST_F(HookAborts, AppendingAfterAStopHasNoEffect) {
    a->after = [this](after_request& request) -> boost::asio::awaitable<void> {
        (void)stop.request(stop_reason::cancelled);
        co_await ignore_cancellation();
        co_await later.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        request.append_and_request(message_of(session::role::user, "Too late"));
        a->note("appended");
    };

    play();
    later.cancel();
    run_until([this] { return noted("A appended") > 0; });

    EXPECT_EQ(noted("A appended"), 1);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi"));
}

// A plugin may throw the abort anywhere, and it is an abort everywhere.

TEST_F(HookAborts, ThrownByAStartSkipsTheEndOfTheTurn) {
    b->start = [](plugin_turn&) -> boost::asio::awaitable<turn_clean_up> {
        co_await abort_turn();
        co_return turn_clean_up();
    };

    play();

    EXPECT_THAT(journal, ElementsAre("A start", "B start", "A clean-up", "finish"));
    EXPECT_EQ(sink.end.reason, stop_reason::aborted);
    EXPECT_THAT(log.lines(), IsEmpty());
}

TEST_F(HookAborts, ThrownByBeforeRequest) {
    a->before = [](request_draft&) {
        return abort_turn();
    };

    play();

    expect_aborted(stop_reason::aborted);
}

TEST_F(HookAborts, ThrownByStreamData) {
    a->stream = [](const session::message&, const stream_data&) {
        throw turn_aborted();
    };

    play();

    expect_aborted(stop_reason::aborted);
    EXPECT_EQ(noted("A after"), 0);
}

TEST_F(HookAborts, ThrownByAfterRequest) {
    b->after = [](after_request&) {
        return abort_turn();
    };

    play();

    expect_aborted(stop_reason::aborted);
}

TEST_F(HookAborts, ThrownByMessageAppend) {
    a->append = [](appended_message&) {
        return abort_turn();
    };
    model.turns = {calls({{"c1", "change_background", "{}"}})};

    play();

    expect_aborted(stop_reason::aborted);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());
    EXPECT_EQ(status_of("c1"), session::call_status::dead);
}

TEST_F(HookAborts, ThrownByTheEndOfTheTurn) {
    a->end = [](stop_reason) {
        return abort_turn();
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::aborted);
    EXPECT_EQ(noted("A clean-up"), 1);
}

TEST_F(HookAborts, ALimitEndsTheTurnLikeAStop) {
    request.agent.max_rounds = 0;
    model.turns = {calls({{"c1", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::max_rounds);
    EXPECT_EQ(noted("A after"), 0);
    EXPECT_EQ(noted("A end"), 1);
}

TEST_F(HookAborts, AShutdownIsAStop) {
    a->before = [this](request_draft&) -> boost::asio::awaitable<void> {
        (void)stop.request(stop_reason::shutdown);
        co_return;
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::shutdown);
    EXPECT_EQ(noted("A end"), 1);
}

} // namespace
} // namespace agui::runner
