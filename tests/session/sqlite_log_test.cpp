// The durable log: pages, folding, and damage that stays where it is.
#include "session/log_ring.hpp"
#include "session/sqlite_db.hpp"
#include "tests/session/sqlite_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace agui::session {
namespace {

using test::frames_of;
using test::gate;
using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::SqliteStore;
using test::thread_1;

class SqliteLog : public SqliteStore {};

TEST_F(SqliteLog, WritesTheEntriesOfAllRunsOfABatchAsOnePage) {
    (void)write_shared_page();

    database db(path());

    EXPECT_EQ(db.integer("SELECT count(*) FROM log_pages"), 2);
    EXPECT_EQ(
        db.integer(
            "SELECT count(*) FROM log_pages WHERE instr(slices, CAST('third of one' AS BLOB)) "
            "AND instr(slices, CAST('first of two' AS BLOB))"
        ),
        1
    );
}

TEST_F(SqliteLog, DamagedEntriesAreAHoleInTheirRunOnly) {
    const auto [one, two] = write_shared_page();
    damage_page("second of one", 3);

    const std::unique_ptr<store> subject = open();

    EXPECT_EQ(log_failure(*subject, one), errc::run_expired);
    EXPECT_EQ(
        frames_of(get(subject->read_log(two, 0, 10))), (std::vector<std::string>{"first of two"})
    );
    EXPECT_EQ(log().lines().size(), 1U);
}

TEST_F(SqliteLog, ADamagedPageDirectoryExpiresActiveRunsOnceAndForAll) {
    const auto [one, two] = write_shared_page();
    damage_page("second of one", -20);

    {
        const std::unique_ptr<store> subject = open();
        EXPECT_EQ(log_failure(*subject, one), errc::run_expired);
        EXPECT_EQ(log_failure(*subject, two), errc::run_expired);
        const std::int64_t later = begin(*subject, key_of("three"), "run_1");
        done(subject->commit(key_of("three"), {}, slice_of(later, 1, {"sound"})));
        EXPECT_EQ(get(subject->read_log(later, 0, 10)).size(), 1U);
    }

    const std::unique_ptr<store> again = open();
    const std::int64_t later = get(again->latest_run(key_of("three")))->number;
    EXPECT_EQ(get(again->read_log(later, 0, 10)).size(), 1U);
}

TEST_F(SqliteLog, NoticesThatTheEndOfAnEndedRunsLogIsMissing) {
    std::int64_t number = 0;
    {
        const std::unique_ptr<store> subject = open("store.db", durability::power);
        number = begin(*subject, thread_1, "run_1");
        done(subject->commit(thread_1, {}, slice_of(number, 1, {"a", "b"})));
        changes end;
        end.run = run_of("run_1");
        end.run->number = number;
        end.run->status = run_status::finished;
        end.run->last_sequence = 3;
        done(subject->commit(thread_1, end, slice_of(number, 3, {"c"})));
    }
    {
        database db(path());
        db.execute("DELETE FROM log_pages WHERE instr(slices, CAST('c' AS BLOB))");
    }

    const std::unique_ptr<store> subject = open();

    EXPECT_EQ(log_failure(*subject, number), errc::run_expired);
    EXPECT_EQ(
        frames_of(get(subject->read_log(number, 0, 2))), (std::vector<std::string>{"a", "b"})
    );
}

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
            ASSERT_EQ(entries[i].frame, frame(i + 1));
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
    EXPECT_TRUE(log().lines()[0].starts_with("warning the file of the latest log entries is missing"));
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
        std::fstream file(path("damaged.db") + "-log", std::ios::in | std::ios::out | std::ios::binary);
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

// More log than is kept in memory, of two runs that take turns.
class SqliteLogFolding : public SqliteStore {
protected:
    static constexpr std::uint64_t entries_of_each = 60;

    static std::string frame(std::int64_t run_number, std::uint64_t sequence) {
        std::string text(std::size_t{100} << 10U, static_cast<char>('a' + run_number));
        text += std::to_string(sequence);
        return text;
    }

    void write_much(store& subject) {
        one_ = begin(subject, key_of("one"), "run_1");
        two_ = begin(subject, key_of("two"), "run_1");
        const auto observer = std::make_shared<recording_observer>();
        for (std::uint64_t sequence = 1; sequence <= entries_of_each; ++sequence) {
            log_slice of_one = slice_of(one_, sequence, {frame(one_, sequence)});
            of_one.variants.emplace_back(0, "v" + std::to_string(sequence));
            subject.append_log(std::move(of_one), nullptr);
            subject.append_log(slice_of(two_, sequence, {frame(two_, sequence)}), observer);
        }
        EXPECT_TRUE(observer->wait_durable(entries_of_each));
    }

    void expect_all(store& subject) {
        for (const std::int64_t number : {one_, two_}) {
            const std::vector<log_entry> entries = get(subject.read_log(number, 0, 1000));
            ASSERT_EQ(entries.size(), entries_of_each);
            for (std::uint64_t i = 0; i < entries_of_each; ++i) {
                EXPECT_EQ(entries[i].sequence, i + 1);
                EXPECT_EQ(entries[i].frame, frame(number, i + 1));
                EXPECT_EQ(entries[i].variants, number == one_ ? "v" + std::to_string(i + 1) : "");
            }
            EXPECT_EQ(get(subject.read_log(number, 57, 2)).at(1).frame, frame(number, 59));
        }
    }

    /// Each call of the store is followed by at most one step.
    void let_fold(store& subject, int steps) {
        for (int i = 0; i < steps; ++i) {
            EXPECT_FALSE(get(subject.load(key_of("unknown"))));
        }
    }

    [[nodiscard]] std::int64_t one() const noexcept { return one_; }
    [[nodiscard]] std::int64_t two() const noexcept { return two_; }

private:
    std::int64_t one_ = 0;
    std::int64_t two_ = 0;
};

TEST_F(SqliteLogFolding, KeepsEveryEntryReadable) {
    {
        const std::unique_ptr<store> subject = open();
        write_much(*subject);
        expect_all(*subject);
        let_fold(*subject, 200);
        expect_all(*subject);
    }
    {
        database db(path());
        EXPECT_GT(db.integer("SELECT count(*) FROM run_logs"), 0);
        // 64 KB and the slice that passes that; slices are merged up to 1 MB.
        EXPECT_LT(db.integer("SELECT max(bytes) FROM run_logs"), 5 << 18);
        // Pages hold what is too little to be folded.
        EXPECT_LT(db.integer("SELECT coalesce(sum(length(slices)), 0) FROM log_pages"), 1 << 20);
    }

    const std::unique_ptr<store> again = open();
    expect_all(*again);
}

TEST_F(SqliteLogFolding, IsReadInPagesWhereverItsEntriesAre) {
    const std::unique_ptr<store> subject = open();
    write_much(*subject);
    for (int steps = 0; steps < 4; ++steps) {
        SCOPED_TRACE(steps);
        std::uint64_t reached = 0;
        while (reached < entries_of_each) {
            const std::vector<log_entry> page = get(subject->read_log(one(), reached, 7));
            ASSERT_FALSE(page.empty());
            ASSERT_EQ(page.front().sequence, reached + 1);
            reached = page.back().sequence;
        }
        let_fold(*subject, 10 * steps);
    }
}

TEST_F(SqliteLogFolding, LosesNothingWhenKilledAtAnyStep) {
    const std::unique_ptr<store> subject = open();
    write_much(*subject);
    for (int i = 0; i < 5; ++i) {
        SCOPED_TRACE(i);
        let_fold(*subject, i * i);
        const std::unique_ptr<store> after = open_killed_copy("killed.db");
        expect_all(*after);
        let_fold(*after, 50);
        expect_all(*after);
    }
}

TEST_F(SqliteLogFolding, DeltasAreReadableFromPagesAndRowsAlike) {
    const auto delta = [](std::int64_t run_number, std::uint64_t sequence) {
        return "id: " + std::to_string(sequence) + "\ndata: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"msg_" +
               std::to_string(run_number) + "\",\"delta\":\" word " + std::to_string(sequence * 7919) + "\"}\n\n";
    };
    constexpr std::uint64_t entries = 20'000;
    constexpr std::uint64_t slice_entries = 25;
    const std::unique_ptr<store> subject = open();
    const std::int64_t one = begin(*subject, key_of("one"), "run_1");
    const std::int64_t two = begin(*subject, key_of("two"), "run_1");
    const auto observer = std::make_shared<recording_observer>();
    for (std::uint64_t first = 1; first < entries; first += slice_entries) {
        for (const std::int64_t run_number : {one, two}) {
            std::vector<std::string> frames;
            for (std::uint64_t i = 0; i < slice_entries; ++i) {
                frames.push_back(delta(run_number, first + i));
            }
            subject->append_log(slice_of(run_number, first, frames), observer);
        }
        if (first % 1000 == 1) {
            let_fold(*subject, 1);
        }
    }
    done(subject->commit(key_of("one"), {})); // Behind all entries.

    const auto expect_deltas = [&](store& read) {
        for (const std::int64_t run_number : {one, two}) {
            const std::vector<log_entry> all = get(read.read_log(run_number, 0, 2 * entries));
            ASSERT_EQ(all.size(), entries);
            for (const log_entry& entry : all) {
                ASSERT_EQ(entry.frame, delta(run_number, entry.sequence));
            }
            EXPECT_EQ(get(read.read_log(run_number, 15'000, 1)).at(0).frame, delta(run_number, 15'001));
        }
    };
    expect_deltas(*subject);
    const std::unique_ptr<store> after = open_killed_copy("killed.db");
    expect_deltas(*after);
    let_fold(*after, 50);
    expect_deltas(*after);
    // A run goes on where its pages ended.
    done(after->commit(key_of("two"), {}, slice_of(two, entries + 1, {delta(two, entries + 1)})));
    EXPECT_EQ(get(after->read_log(two, entries, 10)).at(0).frame, delta(two, entries + 1));
}

TEST_F(SqliteLogFolding, ADamagedRowIsAHoleInItsRunOnly) {
    {
        const std::unique_ptr<store> subject = open();
        write_much(*subject);
        let_fold(*subject, 200);
    }
    {
        database db(path());
        db.execute(
            "UPDATE run_logs SET payload = zeroblob(length(payload)) WHERE run = " +
            std::to_string(one()) + " AND first_sequence = 1"
        );
    }

    const std::unique_ptr<store> subject = open();

    EXPECT_EQ(log_failure(*subject, one()), errc::run_expired);
    EXPECT_EQ(get(subject->read_log(two(), 0, 1000)).size(), entries_of_each);
}

TEST_F(SqliteLogFolding, RemovedThreadsAndDroppedLogsLeaveNothingBehind) {
    {
        const std::unique_ptr<store> subject = open();
        write_much(*subject);
        let_fold(*subject, 3);
        changes end;
        end.run = run_of("run_1");
        end.run->number = two();
        end.run->status = run_status::finished;
        end.run->ended_at = 5;
        end.run->last_sequence = entries_of_each;
        done(subject->commit(key_of("two"), end));

        EXPECT_TRUE(get(subject->remove(key_of("one"))));
        done(subject->drop_logs({.ended_since = 10, .max_bytes = 0}));
        EXPECT_EQ(log_failure(*subject, one()), errc::run_expired);
        EXPECT_EQ(log_failure(*subject, two()), errc::run_expired);
        let_fold(*subject, 200);
        // A fold begins with a commit.
        begin(*subject, key_of("three"), "run_1");
        let_fold(*subject, 200);
    }

    database db(path());
    EXPECT_EQ(db.integer("SELECT count(*) FROM run_logs"), 0);
    EXPECT_EQ(db.integer("SELECT count(*) FROM log_pages"), 0);
}

TEST_F(SqliteLogFolding, BeyondTheirBytesTheLogsThatEndedFirstGo) {
    constexpr std::uint64_t kilobytes_of_each = 64;
    constexpr std::int64_t runs = 10;
    std::unique_ptr<store> subject = open();
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < runs; ++i) {
        const thread_key key = key_of("thread_" + std::to_string(i));
        numbers.push_back(begin(*subject, key, "run_1"));
        changes end;
        end.run = run_of("run_1");
        end.run->number = numbers.back();
        end.run->status = i == 9 ? run_status::active : run_status::finished;
        end.run->ended_at = 1000 - i; // The last one that began ended first.
        end.run->last_sequence = 1;
        done(subject->commit(
            key, end, slice_of(numbers.back(), 1, {std::string(kilobytes_of_each << 10U, 'x')})
        ));
    }
    subject.reset(); // Folds everything.
    subject = open();

    done(subject->drop_logs({.ended_since = 0, .max_bytes = 1U << 30U}));
    for (const std::int64_t number : numbers) {
        EXPECT_EQ(get(subject->read_log(number, 0, 10)).size(), 1U);
    }
    done(subject->drop_logs({.ended_since = 0, .max_bytes = 5 * (kilobytes_of_each << 10U) + 999}));

    const auto left = [&](store& read) {
        std::vector<std::int64_t> found;
        for (const std::int64_t number : numbers) {
            if (run(read.read_log(number, 0, 10))) {
                found.push_back(number);
            }
        }
        return found;
    };
    // Those of runs that are active and those that ended last are left.
    const std::vector<std::int64_t> some = left(*subject);
    EXPECT_TRUE(std::ranges::find(some, numbers[9]) != some.end());
    EXPECT_TRUE(std::ranges::find(some, numbers[0]) != some.end());
    EXPECT_TRUE(std::ranges::find(some, numbers[8]) == some.end());
    subject.reset();
    {
        database db(path());
        EXPECT_LE(
            db.integer("SELECT sum(length(payload)) FROM run_logs"),
            static_cast<std::int64_t>(5 * (kilobytes_of_each << 10U) + 999)
        );
        EXPECT_EQ(
            db.integer("SELECT sum(length(payload)) FROM run_logs"),
            db.integer("SELECT sum(bytes) FROM run_logs")
        );
    }
    // What is left counts after a restart as well.
    subject = open();
    EXPECT_EQ(left(*subject), some);
    done(subject->drop_logs({.ended_since = 0, .max_bytes = 1}));
    EXPECT_LT(left(*subject).size(), some.size());
    EXPECT_EQ(get(subject->read_log(numbers[9], 0, 10)).size(), 1U);
}

TEST_F(SqliteLog, EntriesThatDoNotContinueALogFail) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    const auto gap = std::make_shared<recording_observer>();
    const auto next = std::make_shared<recording_observer>();
    changes change;
    change.title = "not stored";

    subject->append_log(slice_of(number, 2, {"b"}), gap);
    const auto commit_behind_gap =
        run(subject->commit(thread_1, change, slice_of(number, 3, {"c"})));
    subject->append_log(slice_of(number, 1, {"a"}), next);

    EXPECT_TRUE(gap->wait_failed());
    ASSERT_FALSE(commit_behind_gap);
    EXPECT_EQ(commit_behind_gap.error().code, errc::store_unavailable);
    EXPECT_TRUE(next->wait_durable(1));
    EXPECT_EQ(get(subject->load(thread_1))->title, "");
    EXPECT_EQ(get(subject->read_log(number, 0, 10)).size(), 1U);
}

TEST_F(SqliteLog, EntriesOfARunThatWasRemovedFail) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    EXPECT_TRUE(get(subject->remove(thread_1)));
    const auto observer = std::make_shared<recording_observer>();

    subject->append_log(slice_of(number, 1, {"a"}), observer);

    EXPECT_TRUE(observer->wait_failed());
}

TEST_F(SqliteLog, TakesEntriesFromManyThreads) {
    const std::unique_ptr<store> subject = open();
    constexpr std::uint64_t entries = 400;
    std::vector<std::int64_t> numbers;
    std::vector<std::shared_ptr<recording_observer>> observers;
    for (int i = 0; i < 4; ++i) {
        numbers.push_back(begin(*subject, thread_1, "run_" + std::to_string(i)));
        observers.push_back(std::make_shared<recording_observer>());
    }
    {
        std::vector<std::jthread> writers;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            writers.emplace_back([&, i] {
                for (std::uint64_t sequence = 1; sequence <= entries; ++sequence) {
                    subject->append_log(
                        slice_of(numbers[i], sequence, {std::to_string(sequence)}), observers[i]
                    );
                }
            });
        }
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        EXPECT_TRUE(observers[i]->wait_durable(entries));
        EXPECT_TRUE(observers[i]->in_order());
        const std::vector<log_entry> all = get(subject->read_log(numbers[i], 0, 1000));
        ASSERT_EQ(all.size(), entries);
        EXPECT_EQ(all.back().frame, std::to_string(entries));
    }
}

} // namespace
} // namespace agui::session
