// Entries that wait to be written with others, and entries that do not.
#include "tests/session/postgres/postgres_stores.hpp"

namespace agui::session {
namespace {

using namespace std::chrono_literals;

using test::frames_of;
using test::key_of;
using test::recording_observer;
using test::slice_of;
using test::thread_1;
using test::thread_2;

class PostgresBatches : public test::postgres_stores {
protected:
    // Lasts longer than any test, so entries that were written did not wait for it.
    std::unique_ptr<store> open_with(std::chrono::milliseconds batch) {
        postgres_settings given = settings();
        given.batch = batch;
        return make_postgres_store(given);
    }
    static log_slice delta_of(std::int64_t run, std::uint64_t first, std::string text) {
        log_slice slice = slice_of(run, first, {std::move(text)});
        slice.may_wait = true;
        return slice;
    }
    std::vector<std::string> log_of(store& on, std::int64_t run) {
        return frames_of(get(on.read_log(run, 0, 100)));
    }
};

TEST_F(PostgresBatches, TheFirstDeltaAfterAPauseIsWrittenAtOnceAndTheNextWaits) {
    const auto store = open_with(1h);
    const std::int64_t run = begin(*store, thread_1, "run_1", nullptr);
    const std::int64_t other = begin(*store, thread_2, "run_2", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    const auto other_observer = std::make_shared<recording_observer>();

    store->append_log(delta_of(run, 1, "a"), observer, nullptr);
    EXPECT_TRUE(observer->wait_durable(1));
    store->append_log(delta_of(run, 2, "b"), observer, nullptr);
    store->append_log(slice_of(other, 1, {"x"}), other_observer, nullptr);
    EXPECT_TRUE(other_observer->wait_durable(1));
    EXPECT_EQ(observer->durable(), 1U);
}

TEST_F(PostgresBatches, ADeltaOfARunThatWasSilentDoesNotWaitForOthers) {
    const auto store = open_with(1h);
    const std::int64_t run = begin(*store, thread_1, "run_1", nullptr);
    const std::int64_t other = begin(*store, thread_2, "run_2", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    const auto other_observer = std::make_shared<recording_observer>();

    store->append_log(delta_of(run, 1, "a"), observer, nullptr);
    EXPECT_TRUE(observer->wait_durable(1));
    store->append_log(delta_of(other, 1, "x"), other_observer, nullptr);
    EXPECT_TRUE(other_observer->wait_durable(1)) << "its first";
    done(store->commit(thread_1, {}, slice_of(run, 2, {"call"})));
    store->append_log(delta_of(run, 3, "b"), observer, nullptr);
    EXPECT_TRUE(observer->wait_durable(3)) << "the first after a turn";
}

TEST_F(PostgresBatches, AnUrgentEntryFlushesEarlierOnesOfItsRun) {
    const auto store = open_with(1h);
    const std::int64_t run = begin(*store, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    store->append_log(delta_of(run, 1, "a"), observer, nullptr);
    EXPECT_TRUE(observer->wait_durable(1));

    store->append_log(delta_of(run, 2, "b"), observer, nullptr);
    store->append_log(slice_of(run, 3, {"call"}), observer, nullptr);
    EXPECT_TRUE(observer->wait_durable(3));
    store->append_log(delta_of(run, 4, "c"), observer, nullptr);
    done(store->commit(thread_1, end_of(run, "run_1", 5), slice_of(run, 5, {"end"})));
    EXPECT_EQ(log_of(*store, run), (std::vector<std::string>{"a", "b", "call", "c", "end"}));
}

TEST_F(PostgresBatches, AReaderOfALogDoesNotWaitForABatch) {
    const auto store = open_with(1h);
    const std::int64_t run = begin(*store, thread_1, "run_1", nullptr);
    store->append_log(delta_of(run, 1, "a"), nullptr, nullptr);
    EXPECT_EQ(log_of(*store, run), std::vector<std::string>{"a"});

    store->append_log(delta_of(run, 2, "b"), nullptr, nullptr);
    store->append_log(delta_of(run, 3, "c"), nullptr, nullptr);
    EXPECT_EQ(log_of(*store, run), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(PostgresBatches, DeltasOfAllRunsAreWrittenWhenTheTimeIsOver) {
    const auto store = open_with(5ms);
    const std::int64_t run = begin(*store, thread_1, "run_1", nullptr);
    const std::int64_t other = begin(*store, thread_2, "run_2", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    const auto other_observer = std::make_shared<recording_observer>();
    for (std::uint64_t i = 1; i <= 20; ++i) {
        store->append_log(delta_of(run, i, "a"), observer, nullptr);
        store->append_log(delta_of(other, i, "b"), other_observer, nullptr);
    }
    EXPECT_TRUE(observer->wait_durable(20));
    EXPECT_TRUE(other_observer->wait_durable(20));
    EXPECT_TRUE(observer->in_order());
}

TEST_F(PostgresBatches, NothingWaitsWithABatchOfZero) {
    const auto store = open_with(0ms);
    const std::int64_t run = begin(*store, thread_1, "run_1", nullptr);
    const auto observer = std::make_shared<recording_observer>();
    for (std::uint64_t i = 1; i <= 3; ++i) {
        store->append_log(delta_of(run, i, "a"), observer, nullptr);
        EXPECT_TRUE(observer->wait_durable(i));
    }
    EXPECT_EQ(log_of(*store, run), (std::vector<std::string>{"a", "a", "a"}));
}

TEST_F(PostgresBatches, AClosingStoreWritesWaitingEntries) {
    std::int64_t run = 0;
    const auto observer = std::make_shared<recording_observer>();
    {
        const auto store = open_with(1h);
        run = begin(*store, thread_1, "run_1", nullptr);
        store->append_log(delta_of(run, 1, "a"), observer, nullptr);
        EXPECT_TRUE(observer->wait_durable(1));
        store->append_log(delta_of(run, 2, "b"), observer, nullptr);
    }
    EXPECT_EQ(observer->durable(), 2U);
    EXPECT_EQ(log_of(*open(), run), (std::vector<std::string>{"a", "b"}));
}

} // namespace
} // namespace agui::session
