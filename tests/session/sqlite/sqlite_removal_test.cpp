// A removed thread is gone at once. Its rows are deleted in steps, even if the process ends in
// between.
#include "session/base/failpoint.hpp"
#include "session/sqlite/sqlite_removal.hpp"
#include "session/sqlite/sqlite_runs.hpp"
#include "session/sqlite/sqlite_schema.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace agui::session {
namespace {

using test::key_of;
using test::SqliteStore;
using test::thread_1;
using test::user_message;

class SqliteRemoval : public SqliteStore {
protected:
    // Makes a thread of so many messages of 16 KB, and as many journal entries.
    void make_thread(store& subject, const thread_key& key, std::size_t messages) {
        changes change;
        for (std::size_t i = 0; i < messages; ++i) {
            change.messages.push_back(user_message(
                "m" + std::to_string(i), std::string(16U << 10U, 'x'),
                i == 0 ? no_node : static_cast<node_index>(i - 1)
            ));
            change.events.push_back({0, "user.message", "run_1", 1, {}});
        }
        change.branches.push_back(
            {0, {.tip = static_cast<node_index>(messages - 1), .updated_at = 1}}
        );
        get(subject.begin(key, test::run_of("run_1"), change));
    }

    static std::int64_t rows(database& db) {
        std::int64_t count = 0;
        for (const char* table :
             {"threads", "thread_documents", "messages", "branches", "calls", "session_events",
              "runs", "run_logs", "queued_requests", "removed_threads"}) {
            count += db.integer(std::string("SELECT count(*) FROM ") + table);
        }
        return count;
    }
};

TEST_F(SqliteRemoval, LeavesNothing) {
    {
        const std::unique_ptr<store> subject = open();
        make_thread(*subject, thread_1, 300);
        EXPECT_TRUE(get(subject->remove(thread_1)));
    }
    database db(path());
    EXPECT_EQ(rows(db), 0);
}

TEST_F(SqliteRemoval, ScrubbingLeavesNoByteOfARemovedThread) {
    const std::string secret = "the-secret-of-ada";
    const std::unique_ptr<store> subject = open();
    begin(*subject, test::thread_2, "other"); // Its entries keep the journal.
    const std::int64_t other = get(subject->find_run(test::thread_2, "other"))->number;
    changes change;
    for (node_index i = 0; i < 100; ++i) {
        change.messages.push_back(user_message("m", secret + std::string(i * 50, 'x')));
    }
    change.branches.push_back({0, {.tip = 99, .updated_at = 1}});
    change.state = json_text("\"" + secret + std::string(20'000, 's') + "\"");
    const std::int64_t number = get(subject->begin(thread_1, test::run_of("run_1"), change)).number;
    for (std::size_t i = 0; i < 3; ++i) { // Earlier documents leave free pages.
        changes next;
        next.state = json_text("\"" + secret + std::string(9'000 * i, 't') + "\"");
        done(subject->commit(thread_1, next));
    }
    subject->append_log(test::slice_of(number, 1, {secret}), nullptr);
    subject->append_log(test::slice_of(other, 1, {"kept"}), nullptr);
    EXPECT_TRUE(get(subject->remove(thread_1)));
    failed_attempt late;
    late.run_number = number;
    late.body = secret;
    subject->keep_attempt(late);

    done(subject->scrub());

    for (const auto& each : std::filesystem::directory_iterator(folder().path())) {
        std::ifstream file(each.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        EXPECT_EQ(bytes.find(secret), std::string::npos) << each.path();
    }
    EXPECT_EQ(get(subject->read_log(other, 0, 10)).size(), 1U);
}

TEST_F(SqliteRemoval, EachStepIsBounded) {
    {
        const std::unique_ptr<store> subject = open();
        make_thread(*subject, thread_1, 1000); // 16 MB
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

    std::int64_t before = rows(db);
    int steps = 0;
    for (;; ++steps) {
        if (!subject.erase_some()) {
            break;
        }
        const std::int64_t after = rows(db);
        EXPECT_LE(before - after, 501);
        before = after;
    }

    EXPECT_GE(steps, 8) << "2 MB at once";
    EXPECT_EQ(rows(db), 0);
}

#ifdef AGUI_FAILPOINTS

TEST_F(SqliteRemoval, ContinuesAfterAKill) {
    const std::unique_ptr<store> subject = open();
    make_thread(*subject, thread_1, 1000);
    int copies = 0;
    {
        const failpoint_hook hook([&](std::string_view name) {
            if (name == "store.removal_step" && copies < 3) {
                copy_files("killed" + std::to_string(copies++) + ".db");
            }
        });
        EXPECT_TRUE(get(subject->remove(thread_1)));
    }
    ASSERT_EQ(copies, 3);

    for (int i = 0; i < copies; ++i) {
        SCOPED_TRACE(i);
        const std::string name = "killed" + std::to_string(i) + ".db";
        {
            const std::unique_ptr<store> killed = open(name);
            EXPECT_FALSE(get(killed->load(thread_1)));
            EXPECT_TRUE(test::orphans_of(*killed).empty());
            // Another thread of that name is made meanwhile, without the rows of the first.
            make_thread(*killed, thread_1, 2);
            EXPECT_EQ(get(killed->load(thread_1))->nodes.size(), 2U);
            done(killed->drop_logs({}));
            EXPECT_EQ(get(killed->load(thread_1))->nodes.size(), 2U);
        }
        database db(path(name));
        EXPECT_EQ(db.integer("SELECT count(*) FROM messages"), 2);
        EXPECT_EQ(db.integer("SELECT count(*) FROM removed_threads"), 0);
    }
}

#endif

} // namespace
} // namespace agui::session
