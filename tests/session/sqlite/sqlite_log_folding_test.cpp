// From pages to rows, while entries come and the process may be killed.
#include "session/sqlite/sqlite_db.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <algorithm>
#include <filesystem>

namespace agui::session {
namespace {

using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::SqliteStore;

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
                EXPECT_EQ(entries[i].json, frame(number, i + 1));
                EXPECT_EQ(entries[i].variants, number == one_ ? "v" + std::to_string(i + 1) : "");
            }
            EXPECT_EQ(get(subject.read_log(number, 57, 2)).at(1).json, frame(number, 59));
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
        return "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"msg_" +
               std::to_string(run_number) + "\",\"delta\":\" word " +
               std::to_string(sequence * 7919) + "\"}";
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
    done(subject->commit(key_of("one"), {})); // After all entries.

    const auto expect_deltas = [&](store& read) {
        for (const std::int64_t run_number : {one, two}) {
            const std::vector<log_entry> all = get(read.read_log(run_number, 0, 2 * entries));
            ASSERT_EQ(all.size(), entries);
            for (const log_entry& entry : all) {
                ASSERT_EQ(entry.json, delta(run_number, entry.sequence));
            }
            EXPECT_EQ(
                get(read.read_log(run_number, 15'000, 1)).at(0).json, delta(run_number, 15'001)
            );
        }
    };
    expect_deltas(*subject);
    const std::unique_ptr<store> after = open_killed_copy("killed.db");
    expect_deltas(*after);
    let_fold(*after, 50);
    expect_deltas(*after);
    // A run goes on where its pages ended.
    done(after->commit(key_of("two"), {}, slice_of(two, entries + 1, {delta(two, entries + 1)})));
    EXPECT_EQ(get(after->read_log(two, entries, 10)).at(0).json, delta(two, entries + 1));
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

TEST_F(SqliteLogFolding, LogsWithoutRowsDoNotKeepTheOthers) {
    std::unique_ptr<store> subject = open();
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < 70; ++i) {
        const thread_key key = key_of("thread_" + std::to_string(i));
        last = begin(*subject, key, "run_1");
        changes end;
        end.run = run_of("run_1");
        end.run->number = last;
        end.run->status = run_status::finished;
        end.run->ended_at = 1000 + i;
        std::optional<log_slice> log;
        if (i == 69) {
            end.run->last_sequence = 1;
            log = slice_of(last, 1, {std::string(64U << 10U, 'x')});
        }
        done(subject->commit(key, end, log));
    }
    subject.reset(); // Folds everything.
    subject = open();
    EXPECT_EQ(get(subject->read_log(last, 0, 10)).size(), 1U);

    done(subject->drop_logs({.ended_since = 0, .max_bytes = 1}));

    EXPECT_EQ(log_failure(*subject, last), errc::run_expired);
}

} // namespace
} // namespace agui::session
