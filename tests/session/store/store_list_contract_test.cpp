#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

TEST_P(StoreContract, ListsPagesOfThreadsNewestFirst) {
    for (int i = 0; i < 5; ++i) {
        // Two of them change in the same millisecond.
        begin(
            key_of("thread_" + std::to_string(i)), "run_1", user_turn("m0", "x", 0, 1000 + i / 2)
        );
    }
    const lease_ptr held = acquire(key_of("thread_4"), "run_1");

    const thread_page first = get(subject().list(query_of("", 2)));
    const thread_page second = get(subject().list(query_of("", 2, first.next_cursor)));
    const thread_page third = get(subject().list(query_of("", 2, second.next_cursor)));

    ASSERT_EQ(first.threads.size(), 2U);
    EXPECT_EQ(first.threads[0].key.thread_id, "thread_4");
    EXPECT_EQ(first.threads[0].active_run_id, "run_1");
    EXPECT_EQ(first.threads[0].updated_at, 1002);
    EXPECT_EQ(first.threads[0].last_run_at, 1000);
    EXPECT_EQ(first.threads[0].agent_id, "default");
    EXPECT_EQ(first.threads[1].key.thread_id, "thread_3");
    EXPECT_EQ(first.threads[1].active_run_id, "");
    ASSERT_EQ(second.threads.size(), 2U);
    EXPECT_EQ(second.threads[0].key.thread_id, "thread_2");
    EXPECT_EQ(second.threads[1].key.thread_id, "thread_1");
    ASSERT_EQ(third.threads.size(), 1U);
    EXPECT_EQ(third.threads[0].key.thread_id, "thread_0");
    EXPECT_EQ(third.next_cursor, "");
}

TEST_P(StoreContract, ListsByAgentAndArchived) {
    changes archived = user_turn("m0", "x");
    archived.archived = true;
    archived.title = "old";
    archived.metadata = json_text(R"({"k":1})");
    begin(key_of("thread_1"), "run_1", archived);
    changes of_helper = user_turn("m0", "x");
    of_helper.agent_id = "helper";
    begin(key_of("thread_2"), "run_1", of_helper);
    begin(key_of("thread_3"), "run_1", user_turn("m0", "x"));

    thread_query archived_ones = query_of("");
    archived_ones.archived = true;
    thread_query of_agent = query_of("");
    of_agent.agent_id = "helper";
    const thread_page old = get(subject().list(archived_ones));
    const thread_page helper = get(subject().list(of_agent));

    ASSERT_EQ(old.threads.size(), 1U);
    EXPECT_EQ(old.threads[0].title, "old");
    EXPECT_TRUE(old.threads[0].archived);
    EXPECT_EQ(old.threads[0].metadata.view(), R"({"k":1})");
    ASSERT_EQ(helper.threads.size(), 1U);
    EXPECT_EQ(helper.threads[0].key.thread_id, "thread_2");
    EXPECT_EQ(get(subject().list(query_of(""))).threads.size(), 2U);
}

TEST_P(StoreContract, RefusesAListCursorThatIsNone) {
    for (const char* cursor : {"x", "1", "1-", "-2x", "1-2-3"}) {
        SCOPED_TRACE(cursor);
        const auto page = run(subject().list(query_of("", 50, cursor)));
        ASSERT_FALSE(page);
        EXPECT_EQ(page.error().code, errc::invalid_input);
        EXPECT_EQ(page.error().path, "cursor");
    }
}

TEST_P(StoreContract, RemovesAThreadWithAllOfIt) {
    changes change = user_turn("m0", "hi");
    change.events.push_back({0, "run.started", "run_1", 10, {}});
    change.calls.push_back({"c", "f", "run_1", call_owner::external, call_status::open, 0});
    change.state = json_text("1");
    begin(thread_1, "run_1", change);
    begin(key_of("thread_2"), "run_1", change);

    EXPECT_TRUE(get(subject().remove(thread_1)));

    EXPECT_FALSE(get(subject().load(thread_1)));
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_1")));
    EXPECT_TRUE(get(subject().events(thread_1, 0, 10)).empty());
    EXPECT_EQ(load(key_of("thread_2")).nodes.size(), 1U);
    EXPECT_EQ(failure_of(subject().commit(thread_1, {})), errc::not_found);

    begin(thread_1, "run_1");
    const thread_record fresh = load(thread_1);
    EXPECT_TRUE(fresh.nodes.empty());
    EXPECT_TRUE(fresh.calls.empty());
    EXPECT_TRUE(fresh.state.is_null());
}

} // namespace
} // namespace agui::session
