#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

TEST_P(StoreContract, FindsRunsByIdAndTheLatest) {
    run_record first = run_of("run_1", 100);
    first.parent_run_id = "run_0";
    first.input_digest = "other";
    const begun_run begun = get(subject().begin(thread_1, first, {}));
    begin(thread_1, "run_2");

    const std::optional<run_record> found = get(subject().find_run(thread_1, "run_1"));
    const std::optional<run_record> latest = get(subject().latest_run(thread_1));

    ASSERT_TRUE(found);
    EXPECT_EQ(found->number, begun.number);
    EXPECT_EQ(found->run_id, "run_1");
    EXPECT_EQ(found->parent_run_id, "run_0");
    EXPECT_EQ(found->agent_id, "default");
    EXPECT_EQ(found->input_digest, "other");
    EXPECT_EQ(found->status, run_status::active);
    EXPECT_EQ(found->started_at, 100);
    ASSERT_TRUE(latest);
    EXPECT_EQ(latest->run_id, "run_2");
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_3")));
}

TEST_P(StoreContract, ReplacesTheRecordOfARun) {
    begin(thread_1, "run_1");
    run_record ended = get(subject().find_run(thread_1, "run_1")).value();
    ended.status = run_status::cancelled;
    ended.end_reason = "user_stop";
    ended.ended_at = 9000;
    ended.last_sequence = 42;
    ended.input_digest.clear();
    changes change;
    change.run = ended;

    done(subject().commit(thread_1, change));
    const run_record found = get(subject().find_run(thread_1, "run_1")).value();

    EXPECT_EQ(found.status, run_status::cancelled);
    EXPECT_EQ(found.end_reason, "user_stop");
    EXPECT_EQ(found.ended_at, 9000);
    EXPECT_EQ(found.last_sequence, 42U);
    EXPECT_EQ(found.input_digest, "digest") << "an empty digest keeps the stored one";
}

TEST_P(StoreContract, RefusesARunIdOfTheThreadTwiceAndStoresNothing) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));

    const auto again = run(subject().begin(thread_1, run_of("run_1"), user_turn("m1", "x", 1)));

    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, errc::run_id_reused);
    EXPECT_EQ(load(thread_1).nodes.size(), 1U);
    EXPECT_NE(begin(key_of("thread_2"), "run_1"), 0) << "another thread may use the id";
}

TEST_P(StoreContract, NumbersOfRunsDiffer) {
    const std::int64_t first = begin(thread_1, "run_1");
    const std::int64_t second = begin(key_of("thread_2"), "run_1");
    get(subject().remove(key_of("thread_2")));
    const std::int64_t third = begin(key_of("thread_2"), "run_1");

    EXPECT_LT(first, second);
    EXPECT_LT(second, third) << "the number of a removed run is not used again";
}

TEST_P(StoreContract, PrincipalsDoNotMeet) {
    const thread_key mine = key_of("same", "alice");
    const thread_key theirs = key_of("same", "bob");
    begin(mine, "run_1", user_turn("m0", "secret"));

    EXPECT_FALSE(get(subject().load(theirs)));
    EXPECT_FALSE(get(subject().find_run(theirs, "run_1")));
    EXPECT_TRUE(get(subject().list(query_of("bob"))).threads.empty());
    EXPECT_FALSE(get(subject().remove(theirs)));
    EXPECT_NE(begin(theirs, "run_1"), 0);
    EXPECT_TRUE(acquire(mine, "run_1")->is_held());
    EXPECT_TRUE(acquire(theirs, "run_1")->is_held());
    EXPECT_EQ(load(mine).nodes.size(), 1U);
    EXPECT_TRUE(load(theirs).nodes.empty());
}

TEST_P(StoreContract, RefusesAChangeThatDoesNotFitAndStoresNothingOfIt) {
    begin(thread_1, "run_1", user_turn("m0", "hi"));
    changes dangling = user_turn("m1", "x", 1);
    dangling.branches[0].value.tip = 7;
    changes gap;
    gap.branches.push_back({5, {}});
    changes unknown_run;
    unknown_run.title = "not stored";
    unknown_run.run = run_of("run_9");

    EXPECT_THROW(run(subject().commit(thread_1, dangling)), std::logic_error);
    EXPECT_THROW(run(subject().commit(thread_1, gap)), std::logic_error);
    EXPECT_THROW(run(subject().commit(thread_1, unknown_run)), std::logic_error);

    const thread_record thread = load(thread_1);
    EXPECT_EQ(thread.nodes.size(), 1U);
    EXPECT_EQ(thread.branches.size(), 1U);
    EXPECT_EQ(thread.title, "");
}

asio::awaitable<int> rounds_of_turns(store& subject, int runner, int rounds) {
    int completed = 0;
    const thread_key key = key_of("thread_" + std::to_string(runner));
    for (int i = 0; i < rounds; ++i) {
        const std::string run_id = "run_" + std::to_string(i);
        const auto acquired = co_await subject.acquire(key, run_id);
        changes turn = user_turn("m" + std::to_string(i), "x", static_cast<node_index>(i));
        const lease_ptr held = acquired ? *acquired : nullptr;
        const auto begun = co_await subject.begin(key, run_of(run_id), turn, std::nullopt, held);
        if (!acquired || !begun) {
            co_return completed;
        }
        subject.append_log(slice_of(begun->number, 1, {"one", "two"}), nullptr, held);
        log_slice last = slice_of(begun->number, 3, {"three"});
        const auto committed = co_await subject.commit(key, {}, last, {held, true});
        const auto thread = co_await subject.load(key);
        const auto expected = static_cast<std::size_t>(i) + 1;
        if (committed && thread && *thread && (*thread)->nodes.size() == expected) {
            ++completed;
        }
    }
    co_return completed;
}

TEST_P(StoreContract, ServesManyThreadsAtOnce) {
    std::atomic<int> completed = 0;
    asio::thread_pool pool(4);
    for (int i = 0; i < 16; ++i) {
        asio::co_spawn(
            pool, rounds_of_turns(subject(), i, 10),
            [&](std::exception_ptr error, int rounds) { completed += error ? 0 : rounds; }
        );
    }
    pool.join();

    EXPECT_EQ(completed, 160);
}

} // namespace
} // namespace agui::session
