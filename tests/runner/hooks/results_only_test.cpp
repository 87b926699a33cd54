#include "runner/hooks/results_only.hpp"

#include "tests/runner/hooks/hooks_fixture.hpp"

namespace agui::runner {
namespace {

using session::role;

session::message caller(std::string text) {
    session::message made = message_of(role::assistant, std::move(text));
    made.tool_calls = {{"c1", "weather", "{}", {}, {}}, {"c2", "clock", "{}", {}, {}}};
    return made;
}

TEST(ResultsOnly, KeepTheResultsAndNotTheCallsOfAnEarlierTurn) {
    session::message failed = result_of("c2", "");
    failed.error = "no clock";

    const auto kept = with_results_only({
        message_of(role::user, "Weather?"),
        caller("Let me see."),
        result_of("c1", "sunny"),
        failed,
        message_of(role::assistant, "It is sunny."),
        message_of(role::user, "Thanks"),
    });

    ASSERT_EQ(kept.size(), 3U);
    EXPECT_EQ(kept[1].role, role::assistant);
    EXPECT_TRUE(kept[1].tool_calls.empty());
    EXPECT_EQ(
        session::text_of(kept[1].content),
        "Let me see.\n[weather: sunny]\n[clock failed: no clock]\nIt is sunny."
    );
    EXPECT_EQ(session::text_of(kept[2].content), "Thanks");
}

TEST(ResultsOnly, TheTurnUnderWayAndTurnsWithoutCallsStayAsTheyAre) {
    const std::vector<session::message> all{
        message_of(role::user, "One"),
        message_of(role::reasoning, "Hm"),
        message_of(role::assistant, "Two"),
        message_of(role::user, "Weather?"),
        caller(""),
        result_of("c1", "sunny"),
        result_of("c2", "noon"),
    };

    EXPECT_EQ(with_results_only(all), all);
}

TEST_F(Hooks, ResultsOnlyIsAPlugin) {
    session::changes change;
    const auto add = [&](session::message value) {
        session::stored_message node;
        node.message = std::move(value);
        node.message.id = "m" + std::to_string(change.messages.size() + 1);
        node.parent = static_cast<session::node_index>(change.messages.size());
        change.messages.push_back(node);
    };
    add(caller(""));
    add(result_of("c1", "sunny"));
    add(result_of("c2", "noon"));
    add(message_of(role::user, "Thanks"));
    change.branches.push_back({0, {4, 0}});
    session::apply(*given, change);
    model.turns = {says("Welcome")};
    const auto only = make_results_only();
    a->before = [&](request_draft& draft) -> boost::asio::awaitable<void> {
        plugin_turn turn;
        co_await only->on_before_request(turn, draft);
    };

    play();

    const std::vector<session::message>& sent = model.histories.at(0);
    ASSERT_EQ(sent.size(), 3U);
    EXPECT_EQ(session::text_of(sent[1].content), "[weather: sunny]\n[clock: noon]");
    EXPECT_TRUE(sent[1].tool_calls.empty());
}

} // namespace
} // namespace agui::runner
