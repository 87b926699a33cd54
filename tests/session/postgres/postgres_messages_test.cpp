// The messages of long threads that a gateway keeps in memory.
#include "tests/session/postgres/postgres_stores.hpp"

#include <string>

namespace agui::session {
namespace {

using test::key_of;
using test::thread_1;
using test::user_turn;

changes long_thread() {
    changes change;
    for (node_index i = 0; i < 600; ++i) {
        change.messages.push_back(
            test::user_message("m" + std::to_string(i), "one", i == 0 ? no_node : i - 1)
        );
    }
    change.branches.push_back({0, {.tip = 599, .updated_at = 1000}});
    return change;
}

class PostgresMessages : public test::postgres_stores {};

// A server that took over may have other messages than those that were read from the former one.
TEST_F(PostgresMessages, AKeptThreadThatEndsInAnotherMessageIsReadAgain) {
    const auto store = open();
    begin(*store, thread_1, "run_1", nullptr, long_thread());
    EXPECT_EQ(get(store->load(thread_1))->nodes.size(), 600U);
    sql("UPDATE agui.messages SET message = convert_to(replace(convert_from(message, 'UTF8'), "
        "'one', 'two'), 'UTF8') WHERE number >= 598");

    const auto changed = get(store->load(thread_1)).value();
    ASSERT_EQ(changed.nodes.size(), 600U);
    EXPECT_EQ(text_of(changed.nodes[597].message.content), "one");
    EXPECT_EQ(text_of(changed.nodes[598].message.content), "two");
    EXPECT_EQ(text_of(changed.nodes[599].message.content), "two");

    sql("DELETE FROM agui.messages WHERE number >= 599");
    sql("UPDATE agui.threads SET message_count = 599");
    sql("UPDATE agui.branches SET tip = 598");
    EXPECT_EQ(get(store->load(thread_1))->nodes.size(), 599U);
}

TEST_F(PostgresMessages, AKeptThreadHasTheMessagesOfOtherGateways) {
    const auto one = open();
    const auto other = open();
    begin(*one, thread_1, "run_1", nullptr, long_thread());
    EXPECT_EQ(get(one->load(thread_1))->nodes.size(), 600U);
    begin(*other, thread_1, "run_2", nullptr, user_turn("m600", "later", 600));

    const auto thread = get(one->load(thread_1)).value();
    ASSERT_EQ(thread.nodes.size(), 601U);
    EXPECT_EQ(text_of(thread.nodes[600].message.content), "later");
}

} // namespace
} // namespace agui::session
