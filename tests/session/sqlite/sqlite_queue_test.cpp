// Queued requests when the process ends, when the disk is full, and when a thread with many of them
// is removed.
#include "session/base/failpoint.hpp"
#include "session/sqlite/sqlite_queue.hpp"
#include "session/sqlite/sqlite_removal.hpp"
#include "session/sqlite/sqlite_runs.hpp"
#include "tests/session/sqlite/failing_vfs.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <filesystem>

namespace agui::session {
namespace {

using test::failing_vfs;
using test::key_of;
using test::run_of;
using test::SqliteStore;
using test::thread_1;
using test::user_turn;

using strings = std::vector<std::string>;

constexpr queue_limits no_limits{.requests = 10'000, .bytes = 1U << 30U};

class SqliteQueue : public SqliteStore {
protected:
    static queued_request request_of(std::string run_id, std::string text = "Hello") {
        queued_request request;
        request.messages.push_back(test::user_message("m_of_" + run_id, std::move(text)).message);
        request.run_id = std::move(run_id);
        request.queued_at = 1000;
        return request;
    }

    std::int64_t enqueue(store& subject, std::string run_id) {
        return get(subject.enqueue(thread_1, request_of(std::move(run_id)), no_limits));
    }

    std::int64_t
    begin_run(store& subject, const thread_key& key, run_record begun, const changes& change = {}) {
        return get(subject.begin(key, std::move(begun), change)).number;
    }

    strings ids(store& subject, const thread_key& key = thread_1) {
        strings found;
        for (const queued_request& each : get(subject.queued(key))) {
            found.push_back(each.run_id);
        }
        return found;
    }

    /// Takes all queued requests. The run of the first one answers the others.
    changes taking_all(store& subject) {
        changes takes = user_turn("m0", "all of them");
        for (const queued_request& each : get(subject.queued(thread_1))) {
            takes.dequeued.push_back(each.number);
            if (takes.dequeued.size() == 1) {
                continue;
            }
            run_record answered = run_of(each.run_id);
            answered.status = run_status::finished;
            answered.answered_by = "run_2";
            takes.answered.push_back(answered);
        }
        return takes;
    }

    void expect_waiting(store& subject) {
        EXPECT_EQ(ids(subject), (strings{"run_2", "run_3"}));
        EXPECT_FALSE(get(subject.find_run(thread_1, "run_2")));
        EXPECT_FALSE(get(subject.find_run(thread_1, "run_3")));
        EXPECT_TRUE(get(subject.load(thread_1))->nodes.empty());
    }

    void expect_taken(store& subject) {
        EXPECT_TRUE(ids(subject).empty());
        EXPECT_EQ(get(subject.find_run(thread_1, "run_2"))->status, run_status::active);
        EXPECT_EQ(get(subject.find_run(thread_1, "run_3"))->answered_by, "run_2");
        EXPECT_EQ(get(subject.load(thread_1))->nodes.size(), 1U);
        EXPECT_EQ(get(subject.latest_run(thread_1))->run_id, "run_2");
    }
};

TEST_F(SqliteQueue, SurvivesAClosedStore) {
    std::int64_t last = 0;
    {
        const std::unique_ptr<store> subject = open();
        begin(*subject, thread_1, "run_1");
        enqueue(*subject, "run_2");
        last = enqueue(*subject, "run_3");
    }
    {
        const std::unique_ptr<store> again = open();
        const auto waiting = get(again->queued(thread_1));
        ASSERT_EQ(waiting.size(), 2U);
        EXPECT_EQ(waiting[0].run_id, "run_2");
        EXPECT_EQ(text_of(waiting[0].messages.at(0).content), "Hello");
        EXPECT_EQ(waiting[1].number, last);
        EXPECT_TRUE(get(again->withdraw(thread_1, waiting[0].number)));
        EXPECT_TRUE(get(again->withdraw(thread_1, last)));
    }
    const std::unique_ptr<store> emptied = open();
    EXPECT_TRUE(ids(*emptied).empty());
    EXPECT_GT(enqueue(*emptied, "run_2"), last);
}

TEST_F(SqliteQueue, SurvivesAKill) {
    const std::unique_ptr<store> subject = open();
    begin_run(*subject, thread_1, run_of("run_1"));
    enqueue(*subject, "run_2");
    enqueue(*subject, "run_3");
    {
        const std::unique_ptr<store> killed = open_killed_copy("waiting.db");
        expect_waiting(*killed);
        ASSERT_EQ(test::orphans_of(*killed).size(), 1U);
        begin_run(*killed, thread_1, run_of("run_2"), taking_all(*killed));
        expect_taken(*killed);
    }

    begin_run(*subject, thread_1, run_of("run_2"), taking_all(*subject));

    const std::unique_ptr<store> killed = open_killed_copy("taken.db");
    expect_taken(*killed);
    EXPECT_EQ(test::orphans_of(*killed).size(), 2U) << "the first run, and the one that took them";
    EXPECT_GT(enqueue(*killed, "run_4"), 2);
}

TEST_F(SqliteQueue, StaysWhenARunCannotTakeIt) {
    failing_vfs files;
    for (const durability how : {durability::process, durability::power}) {
        const std::string name = how == durability::process ? "process.db" : "power.db";
        SCOPED_TRACE(name);
        {
            const std::unique_ptr<store> subject = open(name, how);
            begin(*subject, thread_1, "run_1");
            enqueue(*subject, "run_2");
            enqueue(*subject, "run_3");
            const changes takes = taking_all(*subject);
            files.fail_at(1, failing_vfs::failure::from_then_on);
            const auto begun = run(subject->begin(thread_1, run_of("run_2"), takes));
            files.heal();
            ASSERT_FALSE(begun);
            EXPECT_EQ(begun.error().code, errc::store_unavailable);
            expect_waiting(*subject);
        }
        const std::unique_ptr<store> again = open(name, how);
        expect_waiting(*again);
        get(again->begin(thread_1, run_of("run_2"), taking_all(*again)));
        expect_taken(*again);
    }
}

TEST_F(SqliteQueue, CanBeUsedAgainWhenTheDiskHasRoom) {
    failing_vfs files;
    const std::unique_ptr<store> subject = open();
    begin(*subject, thread_1, "run_1");
    const std::int64_t first = enqueue(*subject, "run_2");

    files.fail_at(1, failing_vfs::failure::from_then_on);
    const auto refused = run(subject->enqueue(thread_1, request_of("run_3"), no_limits));
    const auto kept = run(subject->withdraw(thread_1, first));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::store_unavailable);
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().code, errc::store_unavailable);
    EXPECT_EQ(ids(*subject), strings{"run_2"});

    files.heal();
    EXPECT_GT(enqueue(*subject, "run_3"), first);
    EXPECT_EQ(ids(*subject), (strings{"run_2", "run_3"}));
    EXPECT_TRUE(get(subject->withdraw(thread_1, first)));
}

TEST_F(SqliteQueue, AMessageThatCannotBeReadIsLeftOut) {
    {
        const std::unique_ptr<store> subject = open();
        begin(*subject, thread_1, "run_1");
        enqueue(*subject, "run_2");
        enqueue(*subject, "run_3");
    }
    {
        database db(path());
        db.execute("UPDATE queued_requests SET messages = '[' WHERE run_id = 'run_2'");
        db.execute("UPDATE queued_requests SET messages = '[{\"role\":\"none\"},' || "
                   "substr(messages, 2) WHERE run_id = 'run_3'");
    }
    const std::unique_ptr<store> subject = open();

    const auto waiting = get(subject->queued(thread_1));

    ASSERT_EQ(waiting.size(), 2U);
    EXPECT_TRUE(waiting[0].messages.empty());
    ASSERT_EQ(waiting[1].messages.size(), 1U);
    EXPECT_EQ(waiting[1].messages[0].id, "m_of_run_3");
    ASSERT_EQ(log().lines().size(), 2U);
    EXPECT_TRUE(log().lines()[0].starts_with("warning left out a queued message"));
}

TEST_F(SqliteQueue, IsRemovedInPieces) {
    {
        const std::unique_ptr<store> subject = open();
        begin(*subject, thread_1, "run_1");
        for (int i = 0; i < 1200; ++i) {
            enqueue(*subject, "small_" + std::to_string(i));
        }
        for (int i = 0; i < 40; ++i) {
            get(subject->enqueue(
                thread_1, request_of("large_" + std::to_string(i), std::string(256U << 10U, 'x')),
                no_limits
            ));
        }
    }
    database db(path());
    sqlite_runs runs(db);
    journal files({.path = path("unused")});
    live_logs live(files);
    sqlite_log log(db, runs, live, files, this->log());
    sqlite_attempts attempts(db);
    sqlite_queue queue(db);
    sqlite_removal subject(db, log, attempts, queue);
    subject.mark(db.integer("SELECT id FROM threads"));

    const auto left = [&] {
        return db.integer("SELECT count(*) FROM queued_requests");
    };
    const auto bytes = [&] {
        return db.integer("SELECT coalesce(sum(bytes), 0) FROM queued_requests");
    };
    std::int64_t requests_before = left();
    std::int64_t bytes_before = bytes();
    while (subject.erase_some()) {
        EXPECT_LE(requests_before - left(), 500);
        EXPECT_LE(bytes_before - bytes(), (2 << 20) + (257 << 10));
        requests_before = left();
        bytes_before = bytes();
    }

    EXPECT_EQ(left(), 0);
    EXPECT_EQ(db.integer("SELECT count(*) FROM removed_threads"), 0);
}

#ifdef AGUI_FAILPOINTS

TEST_F(SqliteQueue, IsTakenWithTheStartOfTheRunOrNotAtAll) {
    const std::unique_ptr<store> subject = open("store.db", durability::power);
    begin(*subject, thread_1, "run_1");
    enqueue(*subject, "run_2");
    enqueue(*subject, "run_3");
    const changes takes = taking_all(*subject);
    {
        const failpoint_hook hook([&](std::string_view place) {
            for (const std::string at : {"job_executed", "executed", "committed"}) {
                if (place == "store." + at) {
                    for (const char* suffix : {"", "-wal"}) {
                        std::filesystem::copy_file(path() + suffix, path(at) + suffix);
                    }
                }
            }
        });
        get(subject->begin(thread_1, run_of("run_2"), takes));
    }
    for (const char* at : {"job_executed", "executed"}) {
        SCOPED_TRACE(at);
        expect_waiting(*open(at));
    }
    expect_taken(*open("committed"));
}

TEST_F(SqliteQueue, ARequestThatIsQueuedIsDurableBeforeItsCallerKnows) {
    const std::unique_ptr<store> subject = open();
    begin(*subject, thread_1, "run_1");
    {
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "store.committed") {
                copy_files("killed.db");
            }
        });
        enqueue(*subject, "run_2");
    }
    EXPECT_EQ(ids(*open("killed.db")), strings{"run_2"});
}

#endif

} // namespace
} // namespace agui::session
