#include "tests/session/store/store_contract_case.hpp"

namespace agui::session {
namespace {

using namespace store_contract_case;

TEST_P(StoreContract, HundredAcquirersHaveOneWinner) {
    std::atomic<int> winners = 0;
    std::atomic<int> refused = 0;
    asio::thread_pool pool(4);
    for (int i = 0; i < 100; ++i) {
        asio::co_spawn(
            pool, subject().acquire(thread_1, "run_" + std::to_string(i)),
            [&](std::exception_ptr error, result<lease_ptr> outcome) {
                if (!error && outcome) {
                    ++winners;
                } else if (!error && outcome.error().code == errc::thread_busy) {
                    ++refused; // By the winner, or by a call that asks.
                }
            }
        );
    }
    pool.join();

    EXPECT_EQ(winners, 1);
    EXPECT_EQ(refused, 99);
    const result<lease_ptr> late = run(subject().acquire(thread_1, "late"));
    ASSERT_FALSE(late);
    EXPECT_TRUE(late.error().active_run_id.starts_with("run_")) << "nobody asks any more";
}

TEST_P(StoreContract, OnlyTheHolderReleases) {
    const lease_ptr first = acquire(thread_1, "run_1");
    EXPECT_EQ(active_run(thread_1), "run_1");
    EXPECT_EQ(failure_of(subject().acquire(thread_1, "run_1")), errc::thread_busy);
    subject().release(first);
    EXPECT_FALSE(get(subject().holder(thread_1)));
    const lease_ptr second = acquire(thread_1, "run_2");
    EXPECT_GT(second->token(), first->token());

    subject().release(first);

    EXPECT_EQ(active_run(thread_1), "run_2");
    EXPECT_TRUE(second->is_held());
    EXPECT_FALSE(first->is_held());
    EXPECT_FALSE(first->is_lost()) << "it was given back before another could have it";
}

TEST_P(StoreContract, NamesTheHolderOfAThread) {
    EXPECT_FALSE(get(subject().holder(thread_1)));
    const lease_ptr held = acquire(thread_1, "run_1");
    EXPECT_EQ(get(subject().holder(thread_1))->run_number, 0);

    const std::int64_t number =
        get(subject().begin(thread_1, run_of("run_1"), user_turn("m1", "Hi"), 0, held)).number;

    const auto holder = get(subject().holder(thread_1));
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->run_id, "run_1");
    EXPECT_EQ(holder->run_number, number);
    EXPECT_EQ(holder->first_own_message, 1U);
    EXPECT_TRUE(holder->is_here);
}

TEST_P(StoreContract, LocatesARunByItsThreadsHolder) {
    EXPECT_FALSE(get(subject().locate_run(thread_1, "run_1")).run);
    const lease_ptr held = acquire(thread_1, "run_1");
    const begun_run begun =
        get(subject().begin(thread_1, run_of("run_1"), user_turn("m1", "Hi"), 0, held));

    const located_run active = get(subject().locate_run(thread_1, "run_1"));
    const located_run other = get(subject().locate_run(thread_1, "run_2"));
    subject().release(held);
    const located_run lost = get(subject().locate_run(thread_1, "run_1"));
    changes end;
    end.run = active.run;
    end.run->status = run_status::finished;
    const lease_ptr again = acquire(thread_1, "run_3");
    done(subject().commit(thread_1, end));
    const located_run ended = get(subject().locate_run(thread_1, "run_1"));

    ASSERT_TRUE(active.run);
    EXPECT_EQ(active.run->number, begun.number);
    ASSERT_TRUE(active.holder);
    EXPECT_EQ(active.holder->run_id, "run_1");
    EXPECT_TRUE(active.holder->is_here);
    EXPECT_FALSE(other.run);
    EXPECT_FALSE(other.holder);
    ASSERT_TRUE(lost.run);
    EXPECT_FALSE(lost.holder);
    ASSERT_TRUE(ended.run);
    EXPECT_EQ(ended.run->status, run_status::finished);
    EXPECT_FALSE(ended.holder) << "who holds the thread does not matter then";
}

TEST_P(StoreContract, ALeaseOfTheServerItselfHasNoRun) {
    get(subject().begin(thread_1, run_of("run_0"), {}));
    const lease_ptr held = acquire(thread_1, "");

    const auto refused = run(subject().acquire(thread_1, "run_1"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::thread_busy);
    EXPECT_EQ(refused.error().active_run_id, "");
    EXPECT_EQ(active_run(thread_1), "");
    done(subject().commit(thread_1, {})); // It releases nothing.
    EXPECT_EQ(failure_of(subject().acquire(thread_1, "")), errc::thread_busy);

    subject().release(held);
    EXPECT_EQ(failure_of(subject().acquire(thread_1, "run_1")), errc::internal);
}

// Once the thread may belong to another holder, the former one can write nothing.
TEST_P(StoreContract, RefusesWritesWithAnOldLease) {
    const lease_ptr first = acquire(thread_1, "run_1");
    const std::int64_t number =
        get(subject().begin(thread_1, run_of("run_1"), {}, std::nullopt, first)).number;
    subject().release(first);
    const lease_ptr second = acquire(thread_1, "run_2");
    const std::uint64_t version = load(thread_1).version;

    EXPECT_EQ(
        failure_of(subject().begin(thread_1, run_of("run_3"), {}, std::nullopt, first)),
        errc::lease_lost
    );
    EXPECT_EQ(
        failure_of(subject().commit(thread_1, user_turn("m1", "late"), std::nullopt, {first, true})
        ),
        errc::lease_lost
    );
    EXPECT_EQ(failure_of(subject().orphans(first)), errc::lease_lost);
    const auto observer = std::make_shared<recording_observer>();
    subject().append_log(slice_of(number, 1, {"late"}), observer, first);
    EXPECT_TRUE(observer->wait_failed());

    EXPECT_EQ(observer->durable(), 0U);
    EXPECT_FALSE(get(subject().find_run(thread_1, "run_3")));
    EXPECT_EQ(load(thread_1).version, version);
    EXPECT_EQ(active_run(thread_1), "run_2") << "the old lease has released nothing";
    done(subject().commit(thread_1, user_turn("m1", "in time"), std::nullopt, {second, true}));
    EXPECT_EQ(active_run(thread_1), "");
}

asio::awaitable<bool> commit_and_acquire(store& subject, lease_ptr held) {
    const auto committed = co_await subject.commit(thread_1, {}, std::nullopt, {held, true});
    const auto holder = co_await subject.holder(thread_1);
    const auto acquired = co_await subject.acquire(thread_1, "run_2");
    co_return committed.has_value() && holder && !holder->has_value() && acquired.has_value();
}

TEST_P(StoreContract, TheThreadIsFreeBeforeACommitCompletes) {
    const lease_ptr held = acquire(thread_1, "run_1");
    begin(thread_1, "run_1");

    EXPECT_TRUE(run(commit_and_acquire(subject(), held)));
}

TEST_P(StoreContract, TheThreadIsFreeAlsoAfterACommitThatFails) {
    const lease_ptr held = acquire(thread_1, "run_1");

    EXPECT_EQ(
        failure_of(subject().commit(thread_1, {}, std::nullopt, {held, true})), errc::not_found
    );
    EXPECT_FALSE(get(subject().holder(thread_1)));
}

asio::awaitable<bool> completes_where_it_was_called(store& subject) {
    const auto caller = std::this_thread::get_id();
    const auto begun = co_await subject.begin(thread_1, run_of("run_1"), {});
    const bool same_after_write = std::this_thread::get_id() == caller;
    const auto thread = co_await subject.load(thread_1);
    co_return begun.has_value() && thread.has_value() &&
        same_after_write&& std::this_thread::get_id() == caller;
}

TEST_P(StoreContract, CompletesOnTheCallersExecutor) {
    EXPECT_TRUE(run(completes_where_it_was_called(subject())));
}

TEST_P(StoreContract, CarriesOutACommitWhoseCallerIsCancelled) {
    begin(thread_1, "run_1");
    changes change;
    change.title = "stored";
    asio::cancellation_signal cancel;
    bool ended = false;
    asio::co_spawn(
        context(), subject().commit(thread_1, change),
        asio::bind_cancellation_slot(
            cancel.slot(), [&](std::exception_ptr, const result<void>&) { ended = true; }
        )
    );

    context().restart();
    context().poll_one(); // The coroutine runs until it waits for the store.
    cancel.emit(asio::cancellation_type::terminal);
    while (!ended) {
        context().restart();
        context().run_one();
    }

    EXPECT_EQ(load(thread_1).title, "stored");
}

} // namespace
} // namespace agui::session
