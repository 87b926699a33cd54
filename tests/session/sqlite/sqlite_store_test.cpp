// Additions of SQLite to the contract: data that survives a restart, and files that are refused.
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_schema.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace agui::session {
namespace {

using test::frames_of;
using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::SqliteStore;
using test::thread_1;
using test::user_message;
using test::user_turn;

TEST_F(SqliteStore, HasEverythingAgainAfterItWasClosed) {
    std::int64_t number = 0;
    {
        const std::unique_ptr<store> subject = open();
        number = get(subject->begin(thread_1, run_of("run_1"), user_turn("m0", "hi"))).number;
        subject->append_log(slice_of(number, 1, {"a", "b"}), nullptr);
        changes end;
        end.run = run_of("run_1");
        end.run->number = number;
        end.run->status = run_status::finished;
        end.run->last_sequence = 3;
        done(subject->commit(thread_1, end, slice_of(number, 3, {"c"})));
        subject->close();
    }

    const std::unique_ptr<store> subject = open();
    const std::optional<thread_record> thread = get(subject->load(thread_1));

    ASSERT_TRUE(thread);
    EXPECT_EQ(text_of(thread->nodes.at(0).message.content), "hi");
    EXPECT_EQ(
        frames_of(get(subject->read_log(number, 0, 10))), (std::vector<std::string>{"a", "b", "c"})
    );
    EXPECT_TRUE(test::orphans_of(*subject).empty());
    EXPECT_GT(begin(*subject, thread_1, "run_2"), number);
}

TEST_F(SqliteStore, KeepsItsSigningKey) {
    const std::string key(open()->signing_key());

    EXPECT_EQ(open()->signing_key(), key);
}

TEST_F(SqliteStore, ARunThatNoLongerHoldsItsThreadIsAnOrphan) {
    const std::unique_ptr<store> subject = open();
    const lease_ptr held = get(subject->acquire(thread_1, "run_1"));
    begin(*subject, thread_1, "run_1");
    begin(*subject, key_of("thread_2"), "run_1");
    EXPECT_EQ(test::orphans_of(*subject).size(), 1U);
    subject->release(held);

    const lease_ptr next = get(subject->acquire(thread_1, "run_2"));
    const std::vector<store::orphan> of_one = get(subject->orphans(next));
    ASSERT_EQ(of_one.size(), 1U);
    EXPECT_EQ(of_one[0].run.run_id, "run_1");
    subject->release(next);
    EXPECT_EQ(test::orphans_of(*subject).size(), 2U);
}

TEST_F(SqliteStore, CloseWritesQueuedJobs) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    const auto observer = std::make_shared<recording_observer>();
    subject->append_log(slice_of(number, 1, {"a"}), observer);

    subject->close();

    EXPECT_EQ(observer->durable(), 1U);
}

TEST_F(SqliteStore, FailsCallsThatFollowItsClose) {
    const std::unique_ptr<store> subject = open();
    subject->close();
    const auto observer = std::make_shared<recording_observer>();

    subject->append_log(slice_of(1, 1, {"a"}), observer);
    const auto thread = run(subject->load(thread_1));

    EXPECT_TRUE(observer->wait_failed());
    ASSERT_FALSE(thread);
    EXPECT_EQ(thread.error().code, errc::store_unavailable);
}

TEST_F(SqliteStore, AKilledProcessLosesNothingThatWasAcknowledged) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number =
        get(subject->begin(thread_1, run_of("run_1"), user_turn("m0", "hi"))).number;
    done(subject->commit(thread_1, user_turn("m1", "more", 1)));
    const auto observer = std::make_shared<recording_observer>();
    subject->append_log(slice_of(number, 1, {"a", "b"}), observer);
    ASSERT_TRUE(observer->wait_durable(2));

    const std::unique_ptr<store> after = open_killed_copy("killed.db");

    EXPECT_EQ(get(after->load(thread_1))->nodes.size(), 2U);
    EXPECT_EQ(frames_of(get(after->read_log(number, 0, 10))), (std::vector<std::string>{"a", "b"}));
}

TEST_F(SqliteStore, RunsOfAKilledProcessAreOrphansUntilTheyAreEnded) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t first = begin(*subject, thread_1, "run_1");
    const std::int64_t second = begin(*subject, key_of("thread_2", "alice"), "run_2");
    const auto observer = std::make_shared<recording_observer>();
    subject->append_log(slice_of(first, 1, {"a", "b", "c"}), observer);
    ASSERT_TRUE(observer->wait_durable(3));
    const std::unique_ptr<store> after = open_killed_copy("killed.db");

    const std::vector<test::lost_run> orphans = test::orphans_of(*after);
    ASSERT_EQ(orphans.size(), 2U);
    EXPECT_EQ(orphans[0].key, thread_1);
    EXPECT_EQ(orphans[0].run.number, first);
    EXPECT_EQ(orphans[0].run.input_digest, "digest");
    EXPECT_EQ(orphans[0].last_sequence, 3U);
    EXPECT_EQ(orphans[1].key, key_of("thread_2", "alice"));
    EXPECT_EQ(orphans[1].run.number, second);
    EXPECT_EQ(orphans[1].last_sequence, 0U);

    // The lost run does not hold its thread. It is ended with one more entry.
    const lease_ptr held = get(after->acquire(thread_1, "run_9"));
    changes end;
    end.run = orphans[0].run;
    end.run->status = run_status::failed;
    end.run->last_sequence = 4;
    done(after->commit(thread_1, end, slice_of(first, 4, {"lost"}), {.held = held}));
    EXPECT_EQ(test::orphans_of(*after).size(), 1U);
    EXPECT_EQ(get(after->read_log(first, 3, 10)).at(0).json, "lost");
}

TEST_F(SqliteStore, LeavesOutAMessageThatCannotBeRead) {
    {
        const std::unique_ptr<store> subject = open();
        changes change;
        change.messages = {
            user_message("m0", "a"), user_message("m1", "b", 0), user_message("m2", "c", 1),
            user_message("m3", "d", 1)
        };
        change.branches = {{0, {.tip = 2, .updated_at = 1}}, {1, {.tip = 1, .updated_at = 1}}};
        get(subject->begin(thread_1, run_of("run_1"), change));
    }
    {
        database db(path());
        db.execute("UPDATE messages SET message = '{\"role\":' WHERE number = 1");
    }

    const std::unique_ptr<store> subject = open();
    const thread_record thread = get(subject->load(thread_1)).value();

    EXPECT_EQ(thread.nodes.size(), 4U) << "numbers stay dense";
    EXPECT_EQ(thread.path(thread.branches.at(0).tip), (std::vector<node_index>{0, 2}));
    EXPECT_EQ(thread.path(thread.branches.at(1).tip), (std::vector<node_index>{0}));
    EXPECT_EQ(thread.path(3), (std::vector<node_index>{0, 3}));
    EXPECT_EQ(log().lines().size(), 1U);
}

std::string refusal(const std::string& path) {
    try {
        sqlite_settings settings;
        settings.path = path;
        const std::unique_ptr<store> opened = make_sqlite_store(settings);
        return "(opened)";
    } catch (const std::runtime_error& error) {
        return error.what();
    }
}

TEST_F(SqliteStore, IsRefusedToASecondOpener) {
    const std::unique_ptr<store> subject = open();

    EXPECT_EQ(
        refusal(path()), path() + ": is in use by another process: only one process can use a store"
    );
    EXPECT_EQ(begin(*subject, thread_1, "run_1"), 1) << "the first one is not disturbed";
}

std::int64_t newest_version() {
    return sqlite_first_version + static_cast<std::int64_t>(sqlite_migrations().size()) - 1;
}

TEST_F(SqliteStore, RefusesOtherSchemasAndDoesNotTouchThem) {
    {
        const std::unique_ptr<store> subject = open();
        EXPECT_EQ(begin(*subject, thread_1, "run_1"), 1);
    }
    for (const std::int64_t version : {sqlite_first_version - 1, newest_version() + 1}) {
        {
            database db(path());
            db.execute("PRAGMA user_version = " + std::to_string(version));
        }

        const std::string said = refusal(path());

        const bool is_newer = version > sqlite_first_version;
        EXPECT_NE(said.find(is_newer ? "a newer version" : "an older version"), std::string::npos);
        EXPECT_NE(said.find("move this file and the files beside it away"), std::string::npos);
        EXPECT_EQ(said.find('\n'), std::string::npos);
        database db(path());
        EXPECT_EQ(db.integer("PRAGMA user_version"), version);
        EXPECT_EQ(db.integer("SELECT count(*) FROM runs"), 1);
    }
}

TEST_F(SqliteStore, RefusesTheFilesOfOthers) {
    {
        database db(path("other.db"));
        db.execute("CREATE TABLE songs (title TEXT)");
    }
    {
        database db(path("tagged.db"));
        db.execute("PRAGMA application_id = 7");
    }
    std::ofstream(path("text.db")) << std::string(2000, 'x');

    EXPECT_NE(refusal(path("other.db")).find("of another program"), std::string::npos);
    EXPECT_NE(refusal(path("tagged.db")).find("of another program"), std::string::npos);
    EXPECT_NE(refusal(path("text.db")).find("not an SQLite database"), std::string::npos);
    EXPECT_NE(refusal(path("no/such/folder.db")).find("cannot be opened"), std::string::npos);
    std::ifstream text(path("text.db"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(text), {}), std::string(2000, 'x'));
}

TEST_F(SqliteStore, IsReadableByItsOwnerOnly) {
    const std::unique_ptr<store> subject = open();

    for (const char* suffix : {"", "-wal"}) {
        const auto mode = std::filesystem::status(path() + suffix).permissions();
        EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    }
}

TEST_F(SqliteStore, MakesTheSchemaInAFileWithoutOne) {
    {
        database db(path());
        db.execute("PRAGMA application_id = " + std::to_string(sqlite_application_id));
    }

    const std::unique_ptr<store> subject = open();

    EXPECT_EQ(begin(*subject, thread_1, "run_1"), 1);
}

std::vector<sqlite_migration> with(sqlite_migration next) {
    std::vector<sqlite_migration> all(sqlite_migrations().begin(), sqlite_migrations().end());
    all.push_back(next);
    return all;
}

TEST_F(SqliteStore, TheNextMigrationIsOneFunction) {
    {
        const std::unique_ptr<store> subject = open();
        get(subject->begin(thread_1, run_of("run_1"), user_turn("m0", "hi")));
    }
    const auto migrations =
        with([](database& db) { db.execute("ALTER TABLE threads ADD COLUMN pinned DEFAULT 5"); });

    database db(path());
    open_schema(db, durability::process, migrations);

    EXPECT_EQ(db.integer("PRAGMA user_version"), newest_version() + 1);
    EXPECT_EQ(db.integer("SELECT pinned FROM threads WHERE thread_id = 'thread_1'"), 5);
}

TEST_F(SqliteStore, OpensTheFirstVersion) {
    {
        database db(path());
        open_schema(db, durability::process, sqlite_migrations().first(1));
        EXPECT_EQ(db.integer("PRAGMA user_version"), sqlite_first_version);
    }

    const std::unique_ptr<store> subject = open();

    EXPECT_EQ(begin(*subject, thread_1, "run_1"), 1);
    EXPECT_TRUE(get(subject->pending_calls(thread_1)).value().empty());
}

TEST_F(SqliteStore, AMigrationThatFailsLeavesTheFileAsItWas) {
    {
        const std::unique_ptr<store> subject = open();
    }
    const auto migrations = with([](database& db) {
        db.execute("DROP TABLE runs");
        db.execute("DROP TABLE no_such_table");
    });

    {
        database db(path());
        EXPECT_THROW(open_schema(db, durability::process, migrations), sqlite_error);
    }

    const std::unique_ptr<store> subject = open();
    EXPECT_EQ(begin(*subject, thread_1, "run_1"), 1);
}

} // namespace
} // namespace agui::session
