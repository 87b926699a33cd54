// Log entries past the queue: durable at once, whatever becomes of process and files.
#include "session/sqlite/log_ring.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace agui::session {
namespace {

using test::gate;
using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::SqliteStore;
using test::thread_1;

// Entries that go past the queue.
class SqliteLiveLog : public SqliteStore {
protected:
    static std::string frame(std::uint64_t sequence) { return "event " + std::to_string(sequence); }

    /// Entries from `first` on, each durable when append_log returns.
    void append(store& subject, std::int64_t number, std::uint64_t first, std::uint64_t count) {
        const auto observer = std::make_shared<recording_observer>();
        for (std::uint64_t sequence = first; sequence < first + count; ++sequence) {
            subject.append_log(slice_of(number, sequence, {frame(sequence)}), observer);
            ASSERT_EQ(observer->durable(), sequence);
        }
    }

    void expect_entries(store& subject, std::int64_t number, std::uint64_t count) {
        const std::vector<log_entry> entries = get(subject.read_log(number, 0, 100'000));
        ASSERT_EQ(entries.size(), count);
        for (std::uint64_t i = 0; i < count; ++i) {
            ASSERT_EQ(entries[i].sequence, i + 1);
            ASSERT_EQ(entries[i].json, frame(i + 1));
        }
    }

    void end(store& subject, std::int64_t number, std::uint64_t last) {
        changes change;
        change.run = run_of("run_1");
        change.run->number = number;
        change.run->status = run_status::finished;
        change.run->last_sequence = last;
        done(subject.commit(thread_1, change, slice_of(number, last, {frame(last)})));
    }
};

TEST_F(SqliteLiveLog, SurvivesAKilledProcessTogetherWithCommits) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 100);
    done(subject->commit(thread_1, {}, slice_of(number, 101, {frame(101), frame(102)})));
    append(*subject, number, 103, 100);

    {
        const std::unique_ptr<store> after = open_killed_copy("killed.db");
        expect_entries(*after, number, 202);
        EXPECT_EQ(get(after->orphans()).at(0).last_sequence, 202U);
    }
    end(*subject, number, 203);
    expect_entries(*open_killed_copy("killed_later.db"), number, 203);
}

TEST_F(SqliteLiveLog, AfterACleanEndTheStoreIsOneFile) {
    std::int64_t number = 0;
    {
        const std::unique_ptr<store> subject = open();
        number = begin(*subject, thread_1, "run_1");
        append(*subject, number, 1, 100);
        end(*subject, number, 101);
        EXPECT_TRUE(std::filesystem::exists(path() + "-log"));
    }
    EXPECT_FALSE(std::filesystem::exists(path() + "-log"));

    std::filesystem::copy_file(path(), path("copy.db"));
    expect_entries(*open("copy.db"), number, 101);
    EXPECT_TRUE(log().lines().empty());
}

TEST_F(SqliteLiveLog, IsReadWithAnyDurability) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 100);

    copy_files("power.db");
    {
        const std::unique_ptr<store> power = open("power.db", durability::power);
        expect_entries(*power, number, 100);
        const auto observer = std::make_shared<recording_observer>();
        power->append_log(slice_of(number, 101, {frame(101)}), observer);
        EXPECT_TRUE(observer->wait_durable(101));
        expect_entries(*power, number, 101);
    }
    EXPECT_FALSE(std::filesystem::exists(path("power.db") + "-log"));
    expect_entries(*open("power.db"), number, 101);
}

TEST_F(SqliteLiveLog, WithoutItsFileActiveRunsAreNotServed) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 10);
    copy_files("lost.db");
    std::filesystem::remove(path("lost.db") + "-log");

    const std::unique_ptr<store> after = open("lost.db");

    EXPECT_EQ(log_failure(*after, number), errc::run_expired);
    ASSERT_EQ(log().lines().size(), 1U);
    EXPECT_TRUE(log().lines()[0].starts_with("warning the file of the latest log entries is missing"
    ));
    const std::int64_t next = get(after->begin(thread_1, run_of("run_2"), {})).number;
    append(*after, next, 1, 10);
    expect_entries(*after, next, 10);
}

TEST_F(SqliteLiveLog, WithTheFileOfAnotherStoreActiveRunsAreNotServed) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 10);
    {
        const std::unique_ptr<store> other = open("other.db");
        append(*other, begin(*other, thread_1, "run_1"), 1, 10);
        copy_files("mixed.db");
        std::filesystem::copy_file(
            path("other.db") + "-log", path("mixed.db") + "-log",
            std::filesystem::copy_options::overwrite_existing
        );
    }

    const std::unique_ptr<store> after = open("mixed.db");

    EXPECT_EQ(log_failure(*after, number), errc::run_expired);
}

TEST_F(SqliteLiveLog, LosesNothingInManyKilledProcesses) {
    std::string name = "store.db";
    std::uint64_t last = 0;
    std::int64_t number = 0;
    std::vector<std::unique_ptr<store>> killed;
    for (int life = 0; life < 5; ++life) {
        SCOPED_TRACE(life);
        killed.push_back(open(name));
        store& subject = *killed.back();
        const std::string run_id = "run_" + std::to_string(life);
        const std::int64_t next = begin(subject, thread_1, run_id);
        if (life > 0) {
            expect_entries(subject, number, last);
        }
        number = next;
        last = 50 + static_cast<std::uint64_t>(life);
        append(subject, number, 1, last);
        const std::string copy = "life" + std::to_string(life) + ".db";
        for (const char* suffix : {"", "-wal", "-log"}) {
            std::filesystem::copy_file(path(name) + suffix, path(copy) + suffix);
        }
        name = copy;
    }
}

TEST_F(SqliteLiveLog, ADamagedSliceIsAHoleInItsRunOnly) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t one = begin(*subject, key_of("one"), "run_1");
    const std::int64_t two = begin(*subject, key_of("two"), "run_1");
    append(*subject, one, 1, 10);
    append(*subject, two, 1, 10);
    append(*subject, one, 11, 10);
    copy_files("damaged.db");
    {
        std::fstream file(
            path("damaged.db") + "-log", std::ios::in | std::ios::out | std::ios::binary
        );
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        file.clear();
        file.seekp(static_cast<std::streamoff>(bytes.find("event 1")));
        file.put('E');
    }

    const std::unique_ptr<store> after = open("damaged.db");

    EXPECT_EQ(log_failure(*after, one), errc::run_expired);
    expect_entries(*after, two, 10);
    EXPECT_EQ(log().lines().size(), 1U);
}

TEST_F(SqliteLiveLog, TheFileOfAnotherStoreIsNotRead) {
    {
        const std::unique_ptr<store> subject = open();
        append(*subject, begin(*subject, thread_1, "run_1"), 1, 10);
        std::filesystem::copy_file(path() + "-log", path("other.db-log"));
    }
    const std::unique_ptr<store> other = open("other.db");
    const std::int64_t number = begin(*other, thread_1, "run_1");
    EXPECT_TRUE(get(other->read_log(number, 0, 10)).empty());
    append(*other, number, 1, 3);
    expect_entries(*other, number, 3);
}

TEST_F(SqliteLiveLog, EntriesWaitInTheQueueWhileTheRingIsFull) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t held = begin(*subject, key_of("held"), "run_1");
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    const auto store_thread = std::make_shared<gate>();
    const auto observer = std::make_shared<recording_observer>();
    // Too large for the ring: the store's thread tells that it is durable, and is held.
    subject->append_log(
        slice_of(held, 1, {std::string(log_ring::segment_bytes, 'x')}), store_thread
    );
    store_thread->wait_reached();

    std::uint64_t sequence = 0;
    while (observer->durable() == sequence) {
        ++sequence;
        subject->append_log(slice_of(number, sequence, {frame(sequence)}), observer);
    }
    EXPECT_GT(sequence, 10'000U);
    subject->append_log(slice_of(number, sequence + 1, {frame(sequence + 1)}), observer);
    store_thread->open();

    EXPECT_TRUE(observer->wait_durable(sequence + 1));
    EXPECT_TRUE(observer->in_order());
    expect_entries(*subject, number, sequence + 1);
    expect_entries(*open_killed_copy("killed.db"), number, sequence + 1);
    // When the log is folded the ring is free again. Each call of the store is followed by a step.
    for (int step = 0; step < 200; ++step) {
        EXPECT_FALSE(get(subject->load(key_of("unknown"))));
    }
    append(*subject, number, sequence + 2, 100);
    expect_entries(*subject, number, sequence + 101);
}

} // namespace
} // namespace agui::session
