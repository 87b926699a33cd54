// Begins and commits past the queue: durable at once, in the tables later, and never twice.
#include "session/base/failpoint.hpp"
#include "session/sqlite/log_ring.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_log.hpp"
#include "session/sqlite/sqlite_schema.hpp"
#include "tests/session/sqlite/failing_vfs.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <set>
#include <thread>

namespace agui::session {
namespace {

using test::failing_vfs;
using test::frames_of;
using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::SqliteStore;
using test::thread_1;
using test::user_turn;

class SqliteRedo : public SqliteStore {
protected:
    store::basis basis_of(store& subject, const thread_key& key, const std::string& run_id) {
        const store::view seen = get(subject.look_up(key, run_id));
        EXPECT_FALSE(seen.run);
        store::basis basis;
        basis.as_of = seen.as_of;
        basis.thread_exists = seen.thread.has_value();
        basis.size = seen.thread ? size_of(*seen.thread) : thread_size();
        return basis;
    }

    /// Begins a run that says "Hello": message `number` of its thread.
    std::int64_t begin_turn(
        store& subject, const thread_key& key, const std::string& run_id, node_index number = 0
    ) {
        const store::basis seen = basis_of(subject, key, run_id);
        EXPECT_EQ(seen.size.messages, number);
        return get(subject.begin(key, run_of(run_id), said("Hello", number), seen)).number;
    }

    static changes said(std::string text, node_index number) {
        changes change = user_turn("m" + std::to_string(number), std::move(text), number);
        change.events.push_back({0, "user.message", "run_1", 1, {}});
        return change;
    }

    /// Ends it with the terminal event `last`.
    void end_turn(
        store& subject, const thread_key& key, std::int64_t run_number, node_index number,
        std::uint64_t last = 1
    ) {
        changes change = said("Bye", number);
        change.run = run_of("run");
        change.run->number = run_number;
        change.run->status = run_status::finished;
        change.run->end_reason = "completed";
        change.run->last_sequence = last;
        done(subject.commit(key, change, slice_of(run_number, last, {"terminal"}), "run"));
    }

    /// A thread of two runs, each of a question and an answer.
    void make_conversation(store& subject, const thread_key& key) {
        end_turn(subject, key, begin_turn(subject, key, "run_1"), 1);
        end_turn(subject, key, begin_turn(subject, key, "run_2", 2), 3);
    }

    void expect_conversation(store& subject, const thread_key& key) {
        SCOPED_TRACE(key.thread_id);
        const auto thread = get(subject.load(key));
        ASSERT_TRUE(thread);
        ASSERT_EQ(thread->nodes.size(), 4U);
        for (node_index number = 0; number < 4; ++number) {
            EXPECT_EQ(
                std::get<std::string>(thread->nodes[number].message.content),
                number % 2 == 0 ? "Hello" : "Bye"
            );
        }
        EXPECT_EQ(thread->branches.at(0).tip, 3U);
        EXPECT_EQ(get(subject.events(key, 0, 100)).size(), 4U);
        for (const char* run_id : {"run_1", "run_2"}) {
            const auto found = get(subject.find_run(key, run_id));
            ASSERT_TRUE(found);
            EXPECT_EQ(found->status, run_status::finished);
            EXPECT_EQ(
                frames_of(get(subject.read_log(found->number, 0, 10))),
                (std::vector<std::string>{"terminal"})
            );
        }
        EXPECT_EQ(get(subject.latest_run(key))->run_id, "run_2");
    }

    /// How often something was written to the database or its write-ahead log.
    [[nodiscard]] std::uintmax_t written(std::string_view name = "store.db") const {
        return std::filesystem::file_size(path(name) + "-wal");
    }

    [[nodiscard]] std::string ring_bytes(std::string_view name) const {
        std::ifstream file(path(name) + "-log", std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
};

TEST_F(SqliteRedo, ABeginAndWhatFollowsAreDurableWithoutATransaction) {
    const std::unique_ptr<store> subject = open();
    const store::basis seen = basis_of(*subject, thread_1, "run_1");
    const std::uintmax_t before = written();

    const std::int64_t number =
        get(subject->begin(thread_1, run_of("run_1"), said("Hello", 0), seen)).number;
    done(subject->commit(thread_1, said("More", 1), slice_of(number, 1, {"a"})));
    subject->append_log(slice_of(number, 2, {"b"}), nullptr);

    EXPECT_EQ(written(), before);
    const std::unique_ptr<store> after = open_killed_copy("killed.db");
    EXPECT_EQ(get(after->load(thread_1))->nodes.size(), 2U);
    EXPECT_EQ(frames_of(get(after->read_log(number, 0, 10))), (std::vector<std::string>{"a", "b"}));
    const auto lost = get(after->orphans());
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].run.run_id, "run_1");
    EXPECT_EQ(lost[0].last_sequence, 2U);
}

TEST_F(SqliteRedo, SurvivesAnEndOfAnyKind) {
    std::unique_ptr<store> subject = open();
    for (int i = 0; i < 40; ++i) { // Some in the tables, some not.
        make_conversation(*subject, key_of("thread_" + std::to_string(i)));
    }
    {
        const std::unique_ptr<store> killed = open_killed_copy("killed.db");
        for (int i = 0; i < 40; ++i) {
            expect_conversation(*killed, key_of("thread_" + std::to_string(i)));
        }
        EXPECT_TRUE(get(killed->orphans()).empty());
    }
    subject.reset();
    EXPECT_FALSE(std::filesystem::exists(path() + "-log"));
    subject = open();
    for (int i = 0; i < 40; ++i) {
        expect_conversation(*subject, key_of("thread_" + std::to_string(i)));
    }
    EXPECT_TRUE(log().lines().empty());
}

TEST_F(SqliteRedo, EveryReadSeesWhatWasCommitted) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 1U);
    done(subject->commit(thread_1, said("a", 1)));
    EXPECT_EQ(get(subject->look_up(thread_1, "run_1")).run->number, number);
    done(subject->commit(thread_1, said("b", 2)));
    EXPECT_EQ(get(subject->events(thread_1, 0, 10)).size(), 3U);
    done(subject->commit(thread_1, said("c", 3)));
    EXPECT_EQ(get(subject->find_run(thread_1, "run_1"))->number, number);
    changes title;
    title.title = "A title";
    done(subject->commit(thread_1, title));
    EXPECT_EQ(get(subject->list(test::query_of(""))).threads.at(0).title, "A title");
    end_turn(*subject, thread_1, number, 4);
    EXPECT_EQ(get(subject->latest_run(thread_1))->status, run_status::finished);
    EXPECT_TRUE(get(subject->orphans(thread_1)).empty());

    const std::int64_t other = begin_turn(*subject, key_of("other"), "run_1");
    subject->append_log(slice_of(other, 1, {"a"}), nullptr);
    EXPECT_EQ(frames_of(get(subject->read_log(other, 0, 10))), (std::vector<std::string>{"a"}));
    run_record named = run_of("run_1");
    named.idempotency_key = "key";
    const store::basis seen = basis_of(*subject, key_of("named"), "run_1");
    const std::int64_t of_key = get(subject->begin(key_of("named"), named, {}, seen)).number;
    EXPECT_EQ(get(subject->find_run_by_key(key_of("named"), "key"))->number, of_key);
    const std::int64_t last = begin_turn(*subject, key_of("last"), "run_1");
    EXPECT_EQ(get(subject->orphans()).back().run.number, last);
}

TEST_F(SqliteRedo, WhatIsInTheTablesIsNotDoneAgain) {
    const std::unique_ptr<store> subject = open();
    make_conversation(*subject, key_of("early"));
    expect_conversation(*subject, key_of("early")); // In the tables, and still in the ring.
    make_conversation(*subject, key_of("late"));
    copy_files("killed.db");

    std::vector<std::unique_ptr<store>> killed;
    std::string name = "killed.db";
    for (const char* next : {"again.db", "and_again.db", "last.db"}) {
        // A process that is killed as soon as it has recovered.
        killed.push_back(open(name));
        for (const char* suffix : {"", "-wal", "-log"}) {
            std::filesystem::copy_file(path(name) + suffix, path(next) + suffix);
        }
        name = next;
        expect_conversation(*killed.back(), key_of("early"));
        expect_conversation(*killed.back(), key_of("late"));
    }
    EXPECT_TRUE(log().lines().empty());
}

// Killed between the transaction of the records and the end of recovery, or while the ring is not
// written.
TEST_F(SqliteRedo, ARecoveryThatDoesNotFinishIsGoneOnWith) {
    const std::unique_ptr<store> subject = open();
    make_conversation(*subject, thread_1);
    copy_files("killed.db");
    const std::string ring = ring_bytes("killed.db");
    {
        // Recovered, and the file put back: as if it had not come to removing it.
        const std::unique_ptr<store> after = open("killed.db");
        const std::int64_t identity = [&] {
            copy_files("unused.db");
            return database(path("unused.db")).integer("SELECT identity FROM log_ring");
        }();
        for (const char* suffix : {"", "-wal"}) {
            std::filesystem::copy_file(
                path("killed.db") + suffix, path("half.db") + std::string(suffix)
            );
        }
        std::ofstream(path("half.db-log"), std::ios::binary) << ring;
        database half(path("half.db"));
        // The position of the last applied record is after all of them.
        half.execute(
            "UPDATE log_ring SET applied = 1000000000, identity = " + std::to_string(identity)
        );
    }

    expect_conversation(*open("half.db"), thread_1);
}

TEST_F(SqliteRedo, ManyRecordsAreOneTransaction) {
    const std::unique_ptr<store> subject = open();
    std::vector<std::int64_t> numbers;
    for (int i = 0; i < 100; ++i) {
        numbers.push_back(begin_turn(*subject, key_of("thread_" + std::to_string(i)), "run_1"));
    }
    // At 4 KB for each of 100 transactions alone it would be more.
    const std::uintmax_t before = written();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        end_turn(*subject, key_of("thread_" + std::to_string(i)), numbers[i], 1);
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        EXPECT_EQ(
            get(subject->latest_run(key_of("thread_" + std::to_string(i))))->status,
            run_status::finished
        );
    }
    EXPECT_LT(written() - before, 100U * 4096U);
}

TEST_F(SqliteRedo, RecordsDoNotWaitForOthersForLong) {
    set_apply_window(std::chrono::milliseconds(10));
    const std::unique_ptr<store> subject = open();
    make_conversation(*subject, thread_1);

    // Without the ring a copy lacks what is not in the tables. Nothing but the files tells, since
    // any call would keep the store's thread from being idle: hence a pause.
    bool is_there = false;
    for (int attempt = 0; attempt < 2'000 && !is_there; ++attempt) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        for (const char* suffix : {"", "-wal"}) {
            std::filesystem::copy_file(
                path() + suffix, path("copy.db") + suffix,
                std::filesystem::copy_options::overwrite_existing
            );
        }
        database copy(path("copy.db"));
        is_there = copy.integer("SELECT count(*) FROM runs WHERE status = 'finished'") == 2;
    }
    EXPECT_TRUE(is_there);
}

TEST_F(SqliteRedo, WhatASecondWriterChangedIsLookedAtAgain) {
    const std::unique_ptr<store> subject = open();
    const store::basis stale = basis_of(*subject, thread_1, "run_1");
    end_turn(*subject, thread_1, begin_turn(*subject, thread_1, "run_1"), 1);

    const auto again = run(subject->begin(thread_1, run_of("run_1"), said("Hello", 0), stale));

    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, errc::run_id_reused);
}

TEST_F(SqliteRedo, AChangeThatDoesNotFitIsItsCallersFault) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");

    EXPECT_THROW((void)run(subject->commit(thread_1, said("?", 5))), std::logic_error);

    done(subject->acquire(key_of("other"), "run_1"));
    const store::basis seen = basis_of(*subject, key_of("other"), "run_1");
    EXPECT_THROW(
        (void)run(subject->begin(key_of("other"), run_of("run_1"), said("?", 5), seen)),
        std::logic_error
    );
    end_turn(*subject, thread_1, number, 1);
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 2U);
    EXPECT_FALSE(get(subject->load(key_of("other"))));
}

TEST_F(SqliteRedo, WhatIsTooLargeForTheRingKeepsItsPlaceInTheThread) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");
    const std::string large(std::size_t{100} << 10U, 'x');
    done(subject->commit(thread_1, said("small", 1), slice_of(number, 1, {"a"})));
    done(subject->commit(thread_1, said(large, 2), slice_of(number, 2, {"b"})));
    done(subject->commit(thread_1, said("small", 3), slice_of(number, 3, {"c"})));
    end_turn(*subject, thread_1, number, 4, 4);

    for (const char* name : {"store.db", "killed.db"}) {
        const std::unique_ptr<store> killed =
            std::string_view(name) == "store.db" ? nullptr : open_killed_copy(name);
        store& looked_at = killed ? *killed : *subject;
        const auto thread = get(looked_at.load(thread_1));
        ASSERT_EQ(thread->nodes.size(), 5U);
        EXPECT_EQ(std::get<std::string>(thread->nodes[2].message.content), large);
        EXPECT_EQ(
            frames_of(get(looked_at.read_log(number, 0, 10))),
            (std::vector<std::string>{"a", "b", "c", "terminal"})
        );
    }
}

TEST_F(SqliteRedo, WhatWasRemovedStaysRemoved) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");
    EXPECT_TRUE(get(subject->remove(thread_1)));
    changes end;
    end.run = run_of("run_1");
    end.run->number = number;
    end.run->status = run_status::finished;
    EXPECT_FALSE(run(subject->commit(thread_1, end)));
    make_conversation(*subject, key_of("other"));
    begin_turn(*subject, thread_1, "run_1");

    const std::unique_ptr<store> killed = open_killed_copy("killed.db");

    EXPECT_EQ(get(killed->load(thread_1))->nodes.size(), 1U);
    EXPECT_NE(get(killed->find_run(thread_1, "run_1"))->number, number);
    expect_conversation(*killed, key_of("other"));
}

TEST_F(SqliteRedo, RunNumbersAreNotUsedTwice) {
    std::set<std::int64_t> numbers;
    std::vector<std::unique_ptr<store>> killed;
    std::string name = "store.db";
    for (int life = 0; life < 4; ++life) {
        killed.push_back(open(name));
        store& subject = *killed.back();
        for (int i = 0; i < 3; ++i) {
            const thread_key key = key_of(std::to_string(life) + "_" + std::to_string(i));
            EXPECT_TRUE(numbers.insert(begin_turn(subject, key, "run_1")).second);
            EXPECT_TRUE(numbers.insert(begin(subject, key, "queued")).second);
        }
        const std::string next = "life" + std::to_string(life) + ".db";
        for (const char* suffix : {"", "-wal", "-log"}) {
            std::filesystem::copy_file(path(name) + suffix, path(next) + suffix);
        }
        name = next;
    }
}

// Where the disk is full.
class SqliteRedoFaults : public SqliteRedo {
protected:
    failing_vfs& files() noexcept { return files_; }

private:
    failing_vfs files_; // Before the stores that use it.
};

TEST_F(SqliteRedoFaults, ARunGoesOnAndEndsAndIsShown) {
    std::unique_ptr<store> subject = open();
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");
    files().fail_at(1, failing_vfs::failure::from_then_on);
    done(subject->commit(thread_1, said("More", 1)));
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 2U);
    end_turn(*subject, thread_1, number, 2);
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 3U);
    EXPECT_EQ(get(subject->latest_run(thread_1))->status, run_status::finished);

    // Nobody begins what could not be kept for long.
    const store::basis seen = basis_of(*subject, key_of("other"), "run_1");
    const auto refused = run(subject->begin(key_of("other"), run_of("run_1"), {}, seen));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::store_unavailable);

    // Killed, or closed, with the disk still full: nothing is lost.
    {
        copy_files("killed.db");
        files().heal();
        EXPECT_EQ(get(open("killed.db")->load(thread_1))->nodes.size(), 3U);
        files().fail_at(1, failing_vfs::failure::from_then_on);
    }
    subject.reset();
    files().heal();
    subject = open();
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 3U);
    EXPECT_EQ(get(subject->latest_run(thread_1))->status, run_status::finished);
}

TEST_F(SqliteRedoFaults, ARemovalThatFailsChangesNothing) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");
    files().fail_at(1, failing_vfs::failure::from_then_on);
    EXPECT_FALSE(run(subject->remove(thread_1)));
    end_turn(*subject, thread_1, number, 1); // Bypasses the queue.
    files().heal();
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 2U);
}

TEST_F(SqliteRedoFaults, MuchIsShownThatIsNotWritten) {
    const std::unique_ptr<store> subject = open();
    const int threads = 20;
    std::vector<std::int64_t> numbers;
    for (int i = 0; i < threads; ++i) {
        numbers.push_back(begin_turn(*subject, key_of(std::to_string(i)), "run_1"));
    }
    files().fail_at(1, failing_vfs::failure::from_then_on);
    const std::string text(12'000, 'x');
    for (int i = 0; i < threads; ++i) {
        done(subject->commit(key_of(std::to_string(i)), said(text, 1)));
    }
    for (int i = 0; i < threads; ++i) {
        EXPECT_EQ(get(subject->load(key_of(std::to_string(i))))->nodes.size(), 2U);
    }
    files().heal();
    EXPECT_EQ(get(subject->list(test::query_of(""))).threads.size(), 20U);
    const std::unique_ptr<store> killed = open_killed_copy("killed.db");
    EXPECT_EQ(get(killed->load(key_of("19")))->nodes.size(), 2U);
}

TEST_F(SqliteRedoFaults, WithRoomAgainItGoesOnAsBefore) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");
    files().fail_at(1, failing_vfs::failure::from_then_on);
    end_turn(*subject, thread_1, number, 1);
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 2U);
    // What a read finds is told first, and kept then.
    EXPECT_FALSE(get(subject->load(key_of("unknown"))));
    ASSERT_EQ(log().lines().size(), 1U);
    EXPECT_TRUE(log().lines()[0].starts_with("error cannot write the store"));

    files().heal();

    end_turn(*subject, thread_1, begin_turn(*subject, thread_1, "run_2", 2), 3);
    expect_conversation(*subject, thread_1);
    EXPECT_EQ(log().lines().back(), "info the store can be written again");
}

#ifdef AGUI_FAILPOINTS

TEST_F(SqliteRedoFaults, ReadsDoNotDoWhatWaitsToTheTablesAgain) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");
    files().fail_at(1, failing_vfs::failure::from_then_on);
    done(subject->commit(thread_1, said("More", 1)));
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 2U); // Finds out that the disk is full.
    std::atomic<int> times = 0;
    const failpoint_hook hook([&times](std::string_view name) { times += name == "redo.apply"; });

    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 2U);
    }
    EXPECT_LE(times, 1);
    end_turn(*subject, thread_1, number, 2);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 3U);
    }
    EXPECT_LE(times, 2);
    EXPECT_FALSE(run(subject->begin(key_of("other"), run_of("run_1"), {})));
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 3U);

    files().heal();
    EXPECT_TRUE(run(subject->begin(key_of("other"), run_of("run_1"), {})));
    const std::unique_ptr<store> killed = open_killed_copy("killed.db");
    EXPECT_EQ(get(killed->load(thread_1))->nodes.size(), 3U);
}

TEST_F(SqliteRedoFaults, AThreadIsRemovedWithTheRoomThatIsKeptForIt) {
    const std::unique_ptr<store> subject = open();
    end_turn(*subject, thread_1, begin_turn(*subject, thread_1, "run_1"), 1);
    EXPECT_EQ(std::filesystem::file_size(path() + "-reserve"), 4U << 20U);
    files().fail_at(1, failing_vfs::failure::from_then_on);
    const failpoint_hook hook([this](std::string_view name) {
        if (name == "store.reserve_released") {
            files().heal();
        }
    });

    EXPECT_TRUE(get(subject->remove(thread_1)));

    EXPECT_FALSE(get(subject->load(thread_1)));
    EXPECT_TRUE(std::filesystem::exists(path() + "-reserve")) << "room is kept for the next time";
}

TEST_F(SqliteRedo, ARunThatEndsWhileOrphansAreLookedForIsNone) {
    const std::unique_ptr<store> subject = open();
    done(subject->acquire(thread_1, "run_1"));
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");
    std::atomic<int> times = 0;
    const failpoint_hook hook([&](std::string_view name) {
        // On the store's thread, after it has read the records: the run's own thread ends it past
        // the queue.
        if (name == "store.orphans_read" && ++times == 1) {
            boost::asio::thread_pool other(1);
            changes end = said("Bye", 1);
            end.run = run_of("run_1");
            end.run->number = number;
            end.run->status = run_status::finished;
            boost::asio::co_spawn(
                other, subject->commit(thread_1, end, std::nullopt, "run_1"),
                boost::asio::use_future
            )
                .get();
            other.join();
        }
    });

    EXPECT_TRUE(get(subject->orphans()).empty());
    EXPECT_EQ(times, 1);
    EXPECT_EQ(get(subject->latest_run(thread_1))->status, run_status::finished);
}

#endif

// What is appended between the question and the step does not begin a fold: nobody has brought
// records into the tables.
TEST_F(SqliteRedo, AFoldBeginsOnlyWhereItMay) {
    database db(path("log.db"));
    open_schema(db, durability::process, sqlite_migrations());
    sqlite_runs runs(db);
    sqlite_log subject(db, runs, log());
    subject.recover(nullptr, false);
    log_ring ring(path("log"), 1);
    while (ring.can_prepare()) {
        ring.prepare();
    }
    subject.use(ring);
    EXPECT_FALSE(subject.fold_starts());
    const std::string bytes(60'000, 'x');
    for (std::uint64_t sequence = 1; sequence <= log_ring::segment_count / 2 + 1; ++sequence) {
        ASSERT_TRUE(ring.append({.slice = {1, sequence, 1, bytes}, .commit = {}}));
    }

    subject.fold_step(false);
    EXPECT_TRUE(subject.fold_starts());
    subject.take_live(ring.end());
    subject.fold_step(true);
    EXPECT_FALSE(subject.fold_starts());
}

// A record that cannot be applied to the tables: a bug in the code that wrote it.
class SqliteRedoMisfit : public SqliteRedo, public ::testing::WithParamInterface<const char*> {};

TEST_P(SqliteRedoMisfit, IsLeftOutAlone) {
    const std::string trigger = GetParam();
    if (trigger == "Time") {
        set_apply_window(std::chrono::milliseconds(1));
    }
    const std::unique_ptr<store> subject = open();
    make_conversation(*subject, thread_1);
    expect_conversation(*subject, thread_1);
    make_conversation(*subject, key_of("before"));
    store::basis lie = basis_of(*subject, thread_1, "run_3");
    ++lie.size.messages;
    EXPECT_TRUE(run(subject->begin(thread_1, run_of("run_3"), said("Hello", 5), lie)));
    const std::int64_t later = begin_turn(*subject, key_of("later"), "run_1");

    if (trigger == "Read") {
        EXPECT_EQ(get(subject->list(test::query_of(""))).threads.size(), 3U);
    } else if (trigger == "Write") {
        EXPECT_FALSE(get(subject->remove(key_of("unknown"))));
    }
    // Though it is never idle.
    for (int call = 0; call < 100'000 && log().lines().empty(); ++call) {
        EXPECT_FALSE(get(subject->load(key_of("unknown"))));
    }

    expect_conversation(*subject, thread_1);
    expect_conversation(*subject, key_of("before"));
    EXPECT_EQ(get(subject->latest_run(key_of("later")))->number, later);
    EXPECT_FALSE(get(subject->find_run(thread_1, "run_3")));
    const std::vector<std::string> lines = log().lines();
    EXPECT_EQ(
        std::ranges::count_if(
            lines,
            [](const std::string& line) {
                return line.starts_with("error left out a commit that does not fit its thread");
            }
        ),
        1
    );
}

INSTANTIATE_TEST_SUITE_P(
    Triggers, SqliteRedoMisfit, ::testing::Values("Read", "Write", "Time"),
    [](const auto& of) { return std::string(of.param); }
);

// Threads of runs that are written to from several sides, so much that the ring is used many times
// over.
class SqliteRedoCrowd : public SqliteRedo {
protected:
    static constexpr int crowd = 12;
    static constexpr int turns = 12;
    static constexpr std::uint64_t entries = 40;

    static std::string frame(std::uint64_t sequence) {
        return std::string(1000, static_cast<char>('a' + sequence % 26)) + std::to_string(sequence);
    }

    boost::asio::awaitable<void> converse(store& subject, thread_key key) {
        for (int turn = 0; turn < turns; ++turn) {
            const std::string run_id = "run_" + std::to_string(turn);
            auto held = co_await subject.acquire(key, run_id);
            held.value();
            auto seen = co_await subject.look_up(key, run_id);
            store::basis basis;
            basis.as_of = seen.value().as_of;
            basis.thread_exists = seen.value().thread.has_value();
            basis.size = basis.thread_exists ? size_of(*seen.value().thread) : thread_size();
            if (!subject.is_current(basis.as_of)) {
                auto loaded = co_await subject.load(key);
                basis.thread_exists = loaded.value().has_value();
                basis.size = basis.thread_exists ? size_of(*loaded.value()) : thread_size();
            }
            const auto number = static_cast<node_index>(basis.size.messages);
            auto begun = co_await subject.begin(key, run_of(run_id), said("Hello", number), basis);
            const std::int64_t run_number = begun.value().number;
            for (std::uint64_t sequence = 1; sequence <= entries; ++sequence) {
                subject.append_log(slice_of(run_number, sequence, {frame(sequence)}), nullptr);
            }
            // Some are too large for the ring.
            const std::string text(turn % 5 == 4 ? 20'000 : 200, 'x');
            auto said_more = co_await subject.commit(key, said(text, number + 1));
            said_more.value();
            changes end = said("Bye", number + 2);
            end.run = run_of(run_id);
            end.run->number = run_number;
            end.run->status = run_status::finished;
            end.run->last_sequence = entries + 1;
            auto ended = co_await subject.commit(
                key, end, slice_of(run_number, entries + 1, {frame(entries + 1)}), run_id
            );
            ended.value();
        }
    }

    static boost::asio::awaitable<void> retitle(store& subject, thread_key key) {
        for (int i = 0; i < 5 * turns; ++i) {
            changes title;
            title.title = "title " + std::to_string(i);
            (void)co_await subject.commit(key, title); // The thread may not be there yet.
        }
    }

    void expect_all(store& subject) {
        for (int i = 0; i < crowd; ++i) {
            const thread_key key = key_of("thread_" + std::to_string(i));
            SCOPED_TRACE(key.thread_id);
            const auto thread = get(subject.load(key));
            ASSERT_TRUE(thread);
            EXPECT_EQ(thread->nodes.size(), 3U * turns);
            EXPECT_EQ(get(subject.events(key, 0, 1000)).size(), 3U * turns);
            for (int turn = 0; turn < turns; ++turn) {
                const auto found = get(subject.find_run(key, "run_" + std::to_string(turn)));
                ASSERT_TRUE(found);
                EXPECT_EQ(found->status, run_status::finished);
                const auto log = get(subject.read_log(found->number, 0, 1000));
                ASSERT_EQ(log.size(), entries + 1);
                for (const log_entry& entry : log) {
                    ASSERT_EQ(entry.json, frame(entry.sequence));
                }
            }
        }
        EXPECT_TRUE(get(subject.orphans()).empty());
    }
};

TEST_F(SqliteRedoCrowd, KeepsEveryThreadInOrder) {
    set_apply_window(std::chrono::milliseconds(3));
    std::unique_ptr<store> subject = open();
    boost::asio::thread_pool pool(3);
    std::vector<std::future<void>> all;
    for (int i = 0; i < crowd; ++i) {
        const thread_key key = key_of("thread_" + std::to_string(i));
        all.push_back(boost::asio::co_spawn(pool, converse(*subject, key), boost::asio::use_future)
        );
        all.push_back(boost::asio::co_spawn(pool, retitle(*subject, key), boost::asio::use_future));
    }
    for (std::future<void>& one : all) {
        one.get();
    }
    pool.join();

    expect_all(*subject);
    for (int step = 0; step < 300; ++step) { // Each call is followed by a step of folding.
        EXPECT_FALSE(get(subject->load(key_of("unknown"))));
    }
    expect_all(*open_killed_copy("killed.db"));
    subject.reset();
    expect_all(*open());
    EXPECT_TRUE(log().lines().empty());
}

// What a power cut leaves: the ring without the transactions before it, or with holes.
TEST_F(SqliteRedo, ARecordThatDoesNotFitItsThreadIsLeftOutAlone) {
    const std::unique_ptr<store> subject = open();
    make_conversation(*subject, key_of("before"));
    const std::int64_t number = begin_turn(*subject, thread_1, "run_1");
    EXPECT_EQ(get(subject->load(thread_1))->nodes.size(), 1U); // In the tables.
    done(subject->commit(thread_1, said("a", 1)));
    end_turn(*subject, thread_1, number, 2);
    end_turn(*subject, key_of("behind"), begin_turn(*subject, key_of("behind"), "run_1"), 1);
    copy_files("cut.db");
    const std::size_t hole = ring_bytes("cut.db").find("\"content\":\"a\"");
    ASSERT_NE(hole, std::string::npos);
    {
        std::fstream file(path("cut.db") + "-log", std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(hole));
        file.put('\0');
    }

    const std::unique_ptr<store> after = open("cut.db");

    EXPECT_EQ(get(after->load(thread_1))->nodes.size(), 1U);
    EXPECT_EQ(get(after->find_run(thread_1, "run_1"))->status, run_status::active);
    expect_conversation(*after, key_of("before"));
    EXPECT_EQ(get(after->load(key_of("behind")))->nodes.size(), 2U);
    EXPECT_EQ(get(after->find_run(key_of("behind"), "run_1"))->status, run_status::finished);
    EXPECT_FALSE(log().lines().empty());
}

} // namespace
} // namespace agui::session
