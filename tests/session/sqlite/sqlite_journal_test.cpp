// The way from the journal to rows. Entries are durable at once, whatever happens to process and
// files.
#include "session/base/failpoint.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

namespace agui::session {
namespace {

using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::SqliteStore;
using test::thread_1;

class SqliteJournal : public SqliteStore {
protected:
    static std::string frame(std::uint64_t sequence) { return "event " + std::to_string(sequence); }

    /// Appends entries from `first` on, each durable when append_log() returns.
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

    void
    end(store& subject, std::int64_t number, std::uint64_t last, const thread_key& key = thread_1) {
        changes change;
        change.run = run_of("run_1");
        change.run->number = number;
        change.run->status = run_status::finished;
        change.run->ended_at = 5;
        change.run->last_sequence = last;
        done(subject.commit(key, change, slice_of(number, last, {frame(last)})));
    }

    /// Lets the store's thread do its upkeep, of which at most one step follows each call.
    void let_keep_up(store& subject, int steps = 100) {
        for (int i = 0; i < steps; ++i) {
            EXPECT_FALSE(get(subject.load(key_of("unknown"))));
        }
    }

    void change_byte(const std::string& file, std::string_view where) {
        std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
        const std::string found{std::istreambuf_iterator<char>(bytes), {}};
        const std::size_t at = found.find(where);
        ASSERT_NE(at, std::string::npos);
        bytes.clear();
        bytes.seekp(static_cast<std::streamoff>(at));
        bytes.put(static_cast<char>(found[at] ^ 0x20));
    }

    [[nodiscard]] std::int64_t rows(std::string_view name = "store.db") {
        database db(path(name));
        return db.integer("SELECT count(*) FROM run_logs");
    }
};

TEST_F(SqliteJournal, SurvivesAKilledProcessTogetherWithCommits) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 100);
    done(subject->commit(thread_1, {}, slice_of(number, 101, {frame(101), frame(102)})));
    append(*subject, number, 103, 100);
    expect_entries(*subject, number, 202);

    {
        const std::unique_ptr<store> after = open_killed_copy("killed.db");
        expect_entries(*after, number, 202);
        EXPECT_EQ(test::orphans_of(*after).at(0).last_sequence, 202U);
        end(*after, number, 203);
        expect_entries(*after, number, 203);
    }
    end(*subject, number, 203);
    expect_entries(*open_killed_copy("killed_later.db"), number, 203);
    EXPECT_TRUE(log().lines().empty());
}

TEST_F(SqliteJournal, AfterACleanEndTheStoreIsOneFile) {
    std::int64_t ended = 0;
    std::int64_t active = 0;
    {
        const std::unique_ptr<store> subject = open();
        ended = begin(*subject, thread_1, "run_1");
        active = begin(*subject, key_of("active"), "run_1");
        append(*subject, ended, 1, 100);
        append(*subject, active, 1, 10);
        end(*subject, ended, 101);
        EXPECT_EQ(journal_files("store.db").size(), 1U);
    }
    EXPECT_TRUE(journal_files("store.db").empty());

    std::filesystem::copy_file(path(), path("copy.db"));
    const std::unique_ptr<store> copy = open("copy.db");
    expect_entries(*copy, ended, 101);
    expect_entries(*copy, active, 10);
    EXPECT_TRUE(log().lines().empty());
}

TEST_F(SqliteJournal, IsReadWithAnyDurability) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 100);

    copy_files("power.db");
    {
        const std::unique_ptr<store> power = open("power.db", durability::power);
        expect_entries(*power, number, 100);
        const std::int64_t next = begin(*power, key_of("next"), "run_1");
        const auto observer = std::make_shared<recording_observer>();
        for (std::uint64_t sequence = 1; sequence <= 50; ++sequence) {
            power->append_log(slice_of(next, sequence, {frame(sequence)}), observer);
        }
        EXPECT_TRUE(observer->wait_durable(50));
        EXPECT_TRUE(observer->in_order());
        expect_entries(*power, next, 50);
    }
    EXPECT_TRUE(journal_files("power.db").empty());
    expect_entries(*open("power.db"), number, 100);
}

TEST_F(SqliteJournal, WithoutItsFileActiveRunsAreNotServed) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t ended = begin(*subject, key_of("ended"), "run_1");
    end(*subject, ended, 1, key_of("ended"));
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 10);
    copy_files("lost.db");
    std::filesystem::remove(journal_files("lost.db").at(0));

    const std::unique_ptr<store> after = open("lost.db");

    EXPECT_EQ(log_failure(*after, number), errc::run_expired);
    expect_entries(*after, ended, 1);
    ASSERT_GE(log().lines().size(), 1U);
    EXPECT_TRUE(log().lines()[0].starts_with("warning a file of the journal is missing"));
    const std::int64_t next = get(after->begin(thread_1, run_of("run_2"), {})).number;
    append(*after, next, 1, 10);
    expect_entries(*after, next, 10);
}

TEST_F(SqliteJournal, WithTheFileOfAnotherStoreActiveRunsAreNotServed) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 10);
    {
        const std::unique_ptr<store> other = open("other.db");
        append(*other, begin(*other, thread_1, "run_1"), 1, 10);
        copy_files("mixed.db");
        std::filesystem::copy_file(
            journal_files("other.db").at(0), journal_files("mixed.db").at(0),
            std::filesystem::copy_options::overwrite_existing
        );
    }

    const std::unique_ptr<store> after = open("mixed.db");

    EXPECT_EQ(log_failure(*after, number), errc::run_expired);
}

TEST_F(SqliteJournal, FilesOfAnotherStoreAreNotRead) {
    {
        const std::unique_ptr<store> subject = open();
        append(*subject, begin(*subject, thread_1, "run_1"), 1, 10);
        std::filesystem::copy_file(journal_files("store.db").at(0), path("other.db-log.1"));
    }
    const std::unique_ptr<store> other = open("other.db");
    const std::int64_t number = begin(*other, thread_1, "run_1");
    EXPECT_TRUE(get(other->read_log(number, 0, 10)).empty());
    append(*other, number, 1, 3);
    expect_entries(*other, number, 3);
    EXPECT_EQ(journal_files("other.db").size(), 1U);
}

TEST_F(SqliteJournal, LosesNothingInManyKilledProcesses) {
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
        for (const std::string& file : journal_files(name)) {
            std::filesystem::copy_file(file, path(copy) + file.substr(path(name).size()));
        }
        for (const char* suffix : {"", "-wal"}) {
            std::filesystem::copy_file(path(name) + suffix, path(copy) + suffix);
        }
        name = copy;
    }
}

TEST_F(SqliteJournal, ADamagedRecordIsAHoleInItsRunOnly) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t one = begin(*subject, key_of("one"), "run_1");
    const std::int64_t two = begin(*subject, key_of("two"), "run_1");
    append(*subject, one, 1, 10);
    append(*subject, two, 1, 10);
    append(*subject, one, 11, 10);
    copy_files("damaged.db");
    change_byte(journal_files("damaged.db").at(0), "event 1");

    const std::unique_ptr<store> after = open("damaged.db");

    EXPECT_EQ(log_failure(*after, one), errc::run_expired);
    expect_entries(*after, two, 10);
    EXPECT_EQ(log().lines().size(), 1U);
    end(*after, two, 11, key_of("two"));
    expect_entries(*after, two, 11);
}

TEST_F(SqliteJournal, AMissingPartIsAHoleInEachRunThatMayHaveLostSomething) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t gap = begin(*subject, key_of("gap"), "run_1");
    const std::int64_t silent = begin(*subject, key_of("silent"), "run_1");
    const std::int64_t whole = begin(*subject, key_of("whole"), "run_1");
    const std::int64_t ended = begin(*subject, key_of("ended"), "run_1");
    append(*subject, whole, 1, 5);
    append(*subject, silent, 1, 5);
    append(*subject, gap, 1, 5);
    append(*subject, ended, 1, 5);
    append(*subject, whole, 6, 5);
    append(*subject, gap, 6, 5);
    end(*subject, ended, 6, key_of("ended"));
    copy_files("damaged.db");
    {
        // Damages the bytes from the second record of `silent` to the first of `gap`.
        std::fstream file(
            journal_files("damaged.db").at(0), std::ios::in | std::ios::out | std::ios::binary
        );
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        const std::size_t first = bytes.find("event 1", bytes.find("event 1") + 1);
        const std::size_t from = (first + 7 + 3) / 4 * 4;
        const std::size_t to = bytes.find("event 1", from);
        ASSERT_NE(to, std::string::npos);
        file.clear();
        file.seekp(static_cast<std::streamoff>(from));
        file << std::string(to - from, '\0');
    }

    const std::unique_ptr<store> after = open("damaged.db");

    EXPECT_EQ(log_failure(*after, gap), errc::run_expired);
    EXPECT_EQ(log_failure(*after, silent), errc::run_expired) << "its end may be missing";
    expect_entries(*after, whole, 10);
    expect_entries(*after, ended, 6);
}

TEST_F(SqliteJournal, ARunThatHasEndedLosesNothingWithItsRecords) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t ended = begin(*subject, key_of("ended"), "run_1");
    const std::int64_t active = begin(*subject, key_of("active"), "run_1");
    append(*subject, ended, 1, 5);
    append(*subject, active, 1, 5);
    end(*subject, ended, 6, key_of("ended"));
    copy_files("damaged.db");
    change_byte(journal_files("damaged.db").at(0), "event 1"); // Damages the first one.

    const std::unique_ptr<store> after = open("damaged.db");

    expect_entries(*after, ended, 6);
    expect_entries(*after, active, 5);
    EXPECT_TRUE(log().lines().empty());
}

TEST_F(SqliteJournal, DamagedEntriesThatAreInRowsAreNoLoss) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 10);
    done(subject->commit(thread_1, {}, slice_of(number, 11, {frame(11)})));
    append(*subject, number, 12, 10);
    copy_files("damaged.db");
    change_byte(journal_files("damaged.db").at(0), "event 1");

    expect_entries(*open("damaged.db"), number, 21);
    EXPECT_TRUE(log().lines().empty());
}

// More entries than memory keeps, from two runs that take turns, in files that are soon full.
class SqliteLongLogs : public SqliteJournal {
protected:
    static constexpr std::uint64_t entries_of_each = 60;

    SqliteLongLogs() { set_journal_file_bytes(std::size_t{1} << 20U); }

    static std::string large(std::int64_t run_number, std::uint64_t sequence) {
        std::string text(std::size_t{100} << 10U, static_cast<char>('a' + run_number));
        text += std::to_string(sequence);
        return text;
    }

    void write_much(store& subject) {
        one_ = begin(subject, key_of("one"), "run_1");
        two_ = begin(subject, key_of("two"), "run_1");
        quiet_ = begin(subject, key_of("quiet"), "run_1");
        append(subject, quiet_, 1, 3);
        const auto observer = std::make_shared<recording_observer>();
        for (std::uint64_t sequence = 1; sequence <= entries_of_each; ++sequence) {
            log_slice of_one = slice_of(one_, sequence, {large(one_, sequence)});
            of_one.variants.emplace_back(0, "v" + std::to_string(sequence));
            {
                const std::lock_guard lock(appending_);
                subject.append_log(of_one, observer);
                subject.append_log(slice_of(two_, sequence, {large(two_, sequence)}), nullptr);
            }
            let_keep_up(subject, 3);
        }
        EXPECT_TRUE(observer->wait_durable(entries_of_each));
    }

    void expect_all(store& subject) {
        for (const std::int64_t number : {one_, two_}) {
            const std::vector<log_entry> entries = get(subject.read_log(number, 0, 1000));
            ASSERT_EQ(entries.size(), entries_of_each);
            for (std::uint64_t i = 0; i < entries_of_each; ++i) {
                EXPECT_EQ(entries[i].sequence, i + 1);
                EXPECT_EQ(entries[i].json, large(number, i + 1));
                EXPECT_EQ(entries[i].variants, number == one_ ? "v" + std::to_string(i + 1) : "");
            }
            EXPECT_EQ(get(subject.read_log(number, 57, 2)).at(1).json, large(number, 59));
        }
        expect_entries(subject, quiet_, 3);
    }

    std::int64_t one_ = 0;
    std::int64_t two_ = 0;
    std::int64_t quiet_ = 0;
    /// A copy of a file that is being written has holes, unlike the file that a killed process
    /// leaves.
    std::mutex appending_;
};

TEST_F(SqliteLongLogs, KeepEveryEntryReadable) {
    {
        const std::unique_ptr<store> subject = open();
        write_much(*subject);
        expect_all(*subject);
        EXPECT_LE(journal_files("store.db").size(), 4U) << "a run that says little keeps no file";
        expect_all(*open_killed_copy("killed.db"));
    }
    {
        database db(path());
        EXPECT_GT(db.integer("SELECT count(*) FROM run_logs"), 100);
        EXPECT_LT(db.integer("SELECT max(bytes) FROM run_logs"), 200'000) << "64 KB and one entry";
    }

    const std::unique_ptr<store> again = open();
    expect_all(*again);
}

TEST_F(SqliteLongLogs, ALostFileIsNoticedWhicheverItIs) {
    const std::unique_ptr<store> subject = open();
    write_much(*subject);
    copy_files("all.db");
    const std::size_t count = journal_files("all.db").size();
    ASSERT_GE(count, 2U);
    for (std::size_t lost = 0; lost < count; ++lost) {
        SCOPED_TRACE(lost);
        copy_files("lost.db");
        std::filesystem::remove(journal_files("lost.db").at(lost));
        const std::unique_ptr<store> after = open("lost.db");
        for (const std::int64_t number : {one_, two_}) {
            const auto entries = run(after->read_log(number, 0, 1000));
            EXPECT_TRUE(!entries || entries->size() == entries_of_each)
                << "whole, or said to be gone";
        }
    }
}

TEST_F(SqliteLongLogs, AreReadInPagesWhereverTheirEntriesAre) {
    const std::unique_ptr<store> subject = open();
    write_much(*subject);
    std::uint64_t reached = 0;
    while (reached < entries_of_each) {
        const std::vector<log_entry> page = get(subject->read_log(one_, reached, 7));
        ASSERT_FALSE(page.empty());
        ASSERT_EQ(page.front().sequence, reached + 1);
        reached = page.back().sequence;
    }
}

TEST_F(SqliteLongLogs, ADamagedRowIsAHoleInItsRunOnly) {
    {
        const std::unique_ptr<store> subject = open();
        write_much(*subject);
    }
    {
        database db(path());
        db.execute(
            "UPDATE run_logs SET payload = zeroblob(length(payload)) WHERE run = " +
            std::to_string(one_) + " AND first_sequence = 1"
        );
    }

    const std::unique_ptr<store> subject = open();

    EXPECT_EQ(log_failure(*subject, one_), errc::run_expired);
    EXPECT_EQ(get(subject->read_log(two_, 0, 1000)).size(), entries_of_each);
}

TEST_F(SqliteLongLogs, NothingIsLeftOfRemovedThreadsAndDroppedLogs) {
    {
        const std::unique_ptr<store> subject = open();
        write_much(*subject);
        end(*subject, two_, entries_of_each + 1, key_of("two"));
        EXPECT_TRUE(get(subject->remove(key_of("one"))));
        EXPECT_TRUE(get(subject->remove(key_of("quiet"))));
        done(subject->drop_logs({.ended_since = 10, .max_bytes = 0}));
        EXPECT_EQ(log_failure(*subject, one_), errc::run_expired);
        EXPECT_EQ(log_failure(*subject, two_), errc::run_expired);
        EXPECT_LE(journal_files("store.db").size(), 2U) << "the one that is written, and the next";
        const std::unique_ptr<store> after = open_killed_copy("killed.db");
        EXPECT_EQ(log_failure(*after, one_), errc::run_expired);
    }
    EXPECT_EQ(rows(), 0);
    EXPECT_EQ(rows("killed.db"), 0);
}

TEST_F(SqliteJournal, BeyondTheirBytesTheLogsThatEndedFirstGo) {
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
        end.run->ended_at = 1000 - i; // The run that began last has ended first.
        end.run->last_sequence = 1;
        done(subject->commit(
            key, end, slice_of(numbers.back(), 1, {std::string(kilobytes_of_each << 10U, 'x')})
        ));
    }

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
    // Attempts of active runs and of the runs that ended last are left.
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
    // The remaining attempts count after a restart as well.
    subject = open();
    EXPECT_EQ(left(*subject), some);
    done(subject->drop_logs({.ended_since = 0, .max_bytes = 1}));
    EXPECT_LT(left(*subject).size(), some.size());
    EXPECT_EQ(get(subject->read_log(numbers[9], 0, 10)).size(), 1U);
}

TEST_F(SqliteJournal, LogsWithoutRowsDoNotKeepTheOthers) {
    const std::unique_ptr<store> subject = open();
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
    EXPECT_EQ(get(subject->read_log(last, 0, 10)).size(), 1U);

    done(subject->drop_logs({.ended_since = 0, .max_bytes = 1}));

    EXPECT_EQ(log_failure(*subject, last), errc::run_expired);
}

TEST_F(SqliteJournal, ARunThatBecomesActiveAgainContinues) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 3);
    end(*subject, number, 4);
    changes again;
    again.run = run_of("run_1");
    again.run->number = number;
    done(subject->commit(thread_1, again));

    append(*subject, number, 5, 3);

    expect_entries(*subject, number, 7);
    expect_entries(*open_killed_copy("killed.db"), number, 7);
    end(*subject, number, 8);
    expect_entries(*subject, number, 8);
}

#ifdef AGUI_FAILPOINTS

TEST_F(SqliteLongLogs, LoseNothingWhenKilledAtAnyStep) {
    std::vector<std::string> copies;
    const std::unique_ptr<store> subject = open();
    {
        int passed = 0;
        const failpoint_hook hook([&](std::string_view place) {
            const bool is_step = place == "store.keep_up" || place == "store.rows_written" ||
                                 place == "store.rows_committed" || place == "journal.made";
            if (is_step && ++passed % 7 == 0 && copies.size() < 20) {
                copies.push_back("killed" + std::to_string(passed) + ".db");
                const std::lock_guard lock(appending_);
                copy_files(copies.back());
            }
        });
        write_much(*subject);
    }
    ASSERT_GT(copies.size(), 5U);
    for (const std::string& name : copies) {
        SCOPED_TRACE(name);
        const std::unique_ptr<store> killed = open(name);
        for (const std::int64_t number : {one_, two_}) {
            const std::vector<log_entry> entries = get(killed->read_log(number, 0, 1000));
            EXPECT_GE(entries.size(), 2U);
            for (std::uint64_t i = 0; i < entries.size(); ++i) {
                ASSERT_EQ(entries[i].json, large(number, i + 1));
            }
        }
        expect_entries(*killed, quiet_, 3);
    }
    EXPECT_TRUE(log().lines().empty());
}

// A run continues while its rows are written, and is requested twice.
TEST_F(SqliteJournal, EntriesAppendedWhileRowsAreWrittenAreKept) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    const std::string text(20'000, 'x');
    std::mutex saying;
    std::uint64_t said = 0;
    const auto say = [&] {
        const std::lock_guard lock(saying);
        const std::uint64_t next = ++said;
        subject->append_log(slice_of(number, next, {std::to_string(next) + text}), nullptr);
    };
    {
        int passed = 0;
        const failpoint_hook hook([&](std::string_view place) {
            // While the store's thread is in a transaction, the run's thread would append here.
            if (place == "store.keep_up" || place == "store.rows_written") {
                for (int i = 0; i < 14; ++i) {
                    say();
                }
                if (++passed == 2) {
                    throw std::runtime_error("on purpose");
                }
            }
        });
        for (int i = 0; i < 30; ++i) {
            say();
        }
        let_keep_up(*subject);
        EXPECT_GT(passed, 2);
    }
    const auto entries = get(subject->read_log(number, 0, 10'000));
    ASSERT_EQ(entries.size(), said);
    for (std::uint64_t i = 0; i < said; ++i) {
        ASSERT_EQ(entries[i].json, std::to_string(i + 1) + text);
    }
    const std::unique_ptr<store> after = open_killed_copy("killed.db");
    EXPECT_EQ(get(after->read_log(number, 0, 10'000)).size(), said);
}

TEST_F(SqliteLongLogs, AnUpkeepThatFailsIsMadeUpFor) {
    const std::unique_ptr<store> subject = open();
    {
        int passed = 0;
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "store.rows_written" && ++passed <= 3) {
                throw std::runtime_error("on purpose");
            }
        });
        write_much(*subject);
        EXPECT_GT(passed, 3);
    }
    expect_all(*subject);
    EXPECT_TRUE(log().lines().at(0).starts_with("error the upkeep of the journal has failed"));
    EXPECT_EQ(log().lines().back(), "info the upkeep of the journal works again");
    expect_all(*open_killed_copy("killed.db"));
}

TEST_F(SqliteJournal, ARecoveryThatDoesNotFinishIsRepeated) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 10);
    copy_files("store2.db");
    {
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "journal.recovered") {
                for (const char* suffix : {"", "-wal", "-log.1"}) {
                    std::filesystem::copy_file(
                        path("store2.db") + suffix, path("killed.db") + suffix
                    );
                }
            }
        });
        expect_entries(*open("store2.db"), number, 10);
    }
    expect_entries(*open("killed.db"), number, 10);
}

TEST_F(SqliteJournal, AnEntryThatCannotBeWrittenFailsAtOnce) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    append(*subject, number, 1, 2);
    const auto observer = std::make_shared<recording_observer>();
    {
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "journal.write") {
                throw std::runtime_error("on purpose");
            }
        });
        subject->append_log(slice_of(number, 3, {frame(3)}), observer);
        EXPECT_TRUE(observer->wait_failed());
    }
    append(*subject, number, 3, 2);
    expect_entries(*subject, number, 4);
    expect_entries(*open_killed_copy("killed.db"), number, 4);
}

TEST_F(SqliteJournal, AWriteThatFailsFailsAllEntriesOfItsRuns) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t one = begin(*subject, thread_1, "run_1");
    const std::int64_t two = begin(*subject, key_of("other"), "run_2");
    const log_slice of_one = slice_of(one, 1, {frame(1)});
    const log_slice of_two = slice_of(two, 1, {frame(1)});
    const auto first = std::make_shared<recording_observer>();
    const auto second = std::make_shared<recording_observer>();
    const std::vector<store::log_append> all{{&of_one, first, nullptr}, {&of_two, second, nullptr}};
    {
        int writes = 0;
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "journal.write" && ++writes == 1) {
                throw std::runtime_error("on purpose");
            }
        });
        subject->append_logs(all);
        EXPECT_EQ(writes, 1) << "one for both";
    }
    EXPECT_TRUE(first->wait_failed());
    EXPECT_TRUE(second->wait_failed());
    EXPECT_EQ(first->durable() + second->durable(), 0U);

    append(*subject, one, 1, 2);
    append(*subject, two, 1, 1);
    expect_entries(*open_killed_copy("killed.db"), one, 2);
    expect_entries(*open_killed_copy("again.db"), two, 1);
}

TEST_F(SqliteJournal, ASyncThatFailsFailsItsEntries) {
    const std::unique_ptr<store> subject = open("store.db", durability::power);
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    const auto failing = std::make_shared<recording_observer>();
    {
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "store.sync") {
                throw std::runtime_error("on purpose");
            }
        });
        subject->append_log(slice_of(number, 1, {frame(1)}), failing);
        EXPECT_TRUE(failing->wait_failed());
    }
    EXPECT_EQ(failing->durable(), 0U);
    const auto observer = std::make_shared<recording_observer>();
    subject->append_log(slice_of(number, 2, {frame(2)}), observer);
    EXPECT_TRUE(observer->wait_durable(2));
}

#endif

} // namespace
} // namespace agui::session
