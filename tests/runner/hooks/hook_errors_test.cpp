#include "tests/runner/hooks/hooks_fixture.hpp"

namespace agui::runner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

boost::asio::awaitable<void> fail(std::string why) {
    throw std::runtime_error(why);
    co_return;
}

class HookErrors : public Hooks {
protected:
    HookErrors() {
        a->clean_up_with();
        b->clean_up_with();
        model.turns = {says("Hi")};
    }

    // Checks that the turn has failed, on_turn_end was skipped, and each clean-up ran.
    void expect_failed(const std::string& why) {
        EXPECT_EQ(sink.finishes, 1);
        EXPECT_EQ(sink.end.reason, stop_reason::error);
        EXPECT_EQ(noted("A end"), 0);
        EXPECT_EQ(noted("A clean-up"), 1);
        EXPECT_EQ(noted("B clean-up"), 1);
        EXPECT_THAT(log.lines(), Contains(HasSubstr(why)));
    }
};

TEST_F(HookErrors, AFailedStartEndsTheTurnAndUndoesEarlierStarts) {
    b->start = [](plugin_turn&) -> boost::asio::awaitable<turn_clean_up> {
        throw std::runtime_error("no licence");
        co_return turn_clean_up();
    };

    play();

    EXPECT_THAT(journal, ElementsAre("A start", "B start", "A clean-up", "finish"));
    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_TRUE(model.histories.empty());
    EXPECT_THAT(log.lines(), Contains(HasSubstr("no licence")));
}

TEST_F(HookErrors, InBeforeRequestSkipTheRest) {
    a->before = [](request_draft&) {
        return fail("bad request");
    };

    play();

    expect_failed("bad request");
    EXPECT_EQ(noted("B before"), 0);
    EXPECT_TRUE(model.histories.empty());
}

TEST_F(HookErrors, InStreamDataEndTheAnswer) {
    a->stream = [](const session::message&, const stream_data&) {
        throw std::runtime_error("bad piece");
    };
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_text("One");
        EXPECT_FALSE(to.has_room()) << "the provider must not read on";
        to.on_text("Two");
        return model_answer{};
    }}};

    play();

    expect_failed("bad piece");
    EXPECT_EQ(noted("B stream One"), 0);
    EXPECT_EQ(noted("A stream OneTwo"), 0);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant OneTwo")) << "what was shown is stored";
}

TEST_F(HookErrors, InStreamDataEndAProviderThatWaitsForRoom) {
    a->stream = [](const session::message&, const stream_data&) {
        throw std::runtime_error("bad piece");
    };
    class waiting final : public model_provider {
    public:
        boost::asio::awaitable<model_outcome>
        ask(const model_request& /*request*/, model_sink& sink) override {
            sink.on_text("One");
            while (!sink.has_room()) {
                co_await sink.room();
            }
            co_return model_answer{};
        }
    } provider;

    play_with(provider);

    expect_failed("bad piece");
}

TEST_F(HookErrors, InAfterRequestEndTheTurnAndCancelTheOthers) {
    a->after = [](after_request&) {
        return fail("no follow-up");
    };
    b->after = [](after_request&) {
        return hold_until_cancelled();
    };

    play();

    expect_failed("no follow-up");
    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi"));
}

TEST_F(HookErrors, InMessageAppendEndTheTurnBeforeItsCallsAreExecuted) {
    a->append = [](appended_message& value) -> boost::asio::awaitable<void> {
        value.message.content = std::string("half changed");
        throw std::runtime_error("bad message");
        co_return;
    };
    model.turns = {calls({{"c1", "weather", "{}"}})};

    play();

    expect_failed("bad message");
    EXPECT_EQ(noted("B append "), 0);
    EXPECT_EQ(status_of("c1"), session::call_status::dead);
    EXPECT_THAT(
        sink.steps,
        Contains(
            R"(result c1 failed {"error":"The call was interrupted; whether it had any effect is unknown."})"
        )
    );
    EXPECT_THAT(stored_texts(), ElementsAre("assistant ")) << "a failed hook changes nothing";
}

TEST_F(HookErrors, AtTheEndOfTheTurnSkipTheOthersAndFailTheRun) {
    a->end = [](stop_reason) {
        return fail("no end");
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_EQ(noted("B end"), 0);
    EXPECT_EQ(noted("A clean-up"), 1);
    EXPECT_EQ(noted("B clean-up"), 1);
}

TEST_F(HookErrors, InCleanUpsAreGatheredWithTheTurnsOwn) {
    a->clean_up_with([] { return fail("first"); });
    b->clean_up_with([] { return fail("second"); });
    a->after = [](after_request&) {
        return fail("main");
    };

    play();

    expect_failed("main; second; first");
}

TEST_F(HookErrors, InACleanUpAloneFailTheRun) {
    b->clean_up_with([] { return fail("not undone"); });

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_EQ(noted("B end"), 1);
    EXPECT_EQ(noted("A clean-up"), 1) << "the clean-ups after it run all the same";
}

TEST_F(HookErrors, FromTheModelSkipTheEndOfTheTurn) {
    model.turns = {fails(model_failure::kind::unavailable)};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::model_unavailable);
    EXPECT_EQ(noted("A after"), 0);
    EXPECT_EQ(noted("A end"), 0);
    EXPECT_EQ(noted("A clean-up"), 1);
}

TEST_F(HookErrors, FromTheProviderSkipTheEndOfTheTurn) {
    model.turns = {}; // A model without turns throws.

    play();

    expect_failed("more often than the test expects");
}

TEST_F(HookErrors, FromAToolDoNotFailTheTurn) {
    model.turns = {calls({{"c1", "broken", "{}"}}), says("Sorry")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(noted("A end"), 1);
}

TEST_F(HookErrors, MayBeOfAnyType) {
    a->before = [](request_draft&) -> boost::asio::awaitable<void> {
        throw 5;
        co_return;
    };

    play();

    expect_failed("not a std::exception");
}

TEST_F(HookErrors, AfterACallWasLeftToTheCallerTakeItBack) {
    a->end = [](stop_reason) {
        return fail("no end");
    };
    model.turns = {calls({{"c1", "change_background", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());
    EXPECT_EQ(status_of("c1"), session::call_status::dead);
}

} // namespace
} // namespace agui::runner
