#include "tests/runner/hooks/hooks_fixture.hpp"

namespace agui::runner {
namespace {

using ::testing::ElementsAre;

class HookOrder : public Hooks {
protected:
    void follow_once() {
        a->after = [this](after_request& request) -> boost::asio::awaitable<void> {
            if (noted("A after") == 1) {
                request.append_and_request(message_of(session::role::user, "Go on"));
            }
            co_return;
        };
    }
};

// The flow of seed 000, from the start of the turn to its clean-ups.
TEST_F(HookOrder, IsThatOfTheSeed) {
    a->clean_up_with();
    b->clean_up_with();
    model.turns = {says("Hi")};

    play();

    EXPECT_THAT(
        journal, ElementsAre(
                     "A start", "B start", "A before", "B before", "A stream Hi", "B stream Hi",
                     "A append Hi", "B append Hi", "A after", "B after", "A end", "B end",
                     "B clean-up", "A clean-up", "finish"
                 )
    );
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi"));
}

TEST_F(HookOrder, AStartWaitsForTheOneBeforeIt) {
    a->start = [&](plugin_turn&) -> boost::asio::awaitable<turn_clean_up> {
        co_await yield();
        a->note("started");
        co_return turn_clean_up();
    };
    model.turns = {says("Hi")};

    play();

    ASSERT_GE(journal.size(), 3U);
    EXPECT_EQ(journal[1], "A started");
    EXPECT_EQ(journal[2], "B start");
}

TEST_F(HookOrder, AfterRequestHooksRunConcurrently) {
    bool b_began = false;
    a->after = [&](after_request&) -> boost::asio::awaitable<void> {
        while (!b_began) { // If the hooks ran one after the other, this would wait forever.
            co_await yield();
        }
    };
    b->after = [&](after_request&) -> boost::asio::awaitable<void> {
        b_began = true;
        co_return;
    };
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(HookOrder, TheTurnsHooksRunOnceTheRequestsInEachRound) {
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sunny")};

    play();

    EXPECT_EQ(noted("A start"), 1);
    EXPECT_EQ(noted("A before"), 2);
    EXPECT_EQ(noted("A after"), 2);
    EXPECT_EQ(noted("A end"), 1);
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(HookOrder, AFollowUpRequestStartsAtBeforeRequest) {
    follow_once();
    model.turns = {says("Hi"), says("Bye")};

    play();

    EXPECT_EQ(noted("A start"), 1);
    EXPECT_EQ(noted("A before"), 2);
    EXPECT_EQ(noted("A end"), 1);
    EXPECT_THAT(stored_texts(), ElementsAre("assistant Hi", "user Go on", "assistant Bye"));
    ASSERT_EQ(model.histories.size(), 2U);
    EXPECT_EQ(session::text_of(model.histories[1].back().content), "Go on");
    EXPECT_EQ(noted("A stream Bye"), 1) << "nothing of the first answer";
}

TEST_F(HookOrder, TheAnswerSoFarIsThatOfTheRequestUnderWay) {
    follow_once();
    const scripted_turn thinks{[](model_sink& to) -> model_outcome {
        to.on_reasoning("Hm");
        to.on_text("Bye");
        return model_answer{};
    }};
    model.turns = {says("Hi"), thinks};

    play();

    EXPECT_EQ(noted("A stream Hi"), 1);
    EXPECT_EQ(noted("A stream "), 1) << "while it thinks, it has said nothing";
    EXPECT_EQ(noted("A stream Bye"), 1);
}

TEST_F(HookOrder, ARunThatAsksNoModelIsNotATurn) {
    request.next = session::next_step::wait_for_answers;

    play();

    EXPECT_THAT(journal, ElementsAre("finish"));
    EXPECT_EQ(sink.end.reason, stop_reason::partial_answers);
}

TEST_F(HookOrder, AHandOffEndsTheTurn) {
    model.turns = {calls({{"c1", "change_background", "{}"}})};
    std::optional<stop_reason> told;
    a->end = [&](stop_reason reason) -> boost::asio::awaitable<void> {
        told = reason;
        co_return;
    };

    play();

    EXPECT_EQ(told, stop_reason::external_tool);
    EXPECT_EQ(sink.end.pending_call_ids, std::vector<std::string>{"c1"});
    EXPECT_EQ(status_of("c1"), session::call_status::pending);
    EXPECT_EQ(noted("A after"), 1);
}

TEST_F(HookOrder, EachPieceComesWithTheAnswerSoFar) {
    model.turns = {{[](model_sink& to) -> model_outcome {
        to.on_reasoning("Hm");
        to.on_text("He");
        to.on_text("llo");
        to.on_call(0, "c1", "change_background");
        to.on_call_arguments(0, "{}");
        return model_answer{finish_reason::tool_calls, {}};
    }}};
    std::vector<std::string> pieces;
    a->stream = [&](const session::message& so_far, const stream_data& data) {
        const bool has_call = !so_far.tool_calls.empty();
        pieces.push_back(
            std::to_string(data.index()) + " " + session::text_of(so_far.content) +
            (has_call ? " " + so_far.tool_calls[0].id + so_far.tool_calls[0].arguments : "")
        );
    };

    play();

    EXPECT_THAT(pieces, ElementsAre("1 ", "0 He", "0 Hello", "2 Hello c1", "3 Hello c1{}"));
}

TEST_F(HookOrder, ValuesAreKeptForTheTurnAlone) {
    a->start = [](plugin_turn& turn) -> boost::asio::awaitable<turn_clean_up> {
        EXPECT_TRUE(turn.values.empty());
        EXPECT_EQ(turn.thread_id, "t1");
        EXPECT_EQ(turn.run_id, "r1");
        EXPECT_EQ(turn.agent_id, "default");
        turn.values["count"] = 1;
        co_return turn_clean_up();
    };
    b->start = [](plugin_turn& turn) -> boost::asio::awaitable<turn_clean_up> {
        EXPECT_EQ(std::any_cast<int>(turn.values.at("count")), 1);
        co_return turn_clean_up();
    };
    model.turns = {says("Hi"), says("Hi")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(noted("B start"), 1);
}

} // namespace
} // namespace agui::runner
