// File systems in which each write and each sync fails once.
#include "session/base/failpoint.hpp"
#include "tests/session/sqlite/failing_vfs.hpp"
#include "tests/session/sqlite/sqlite_fixture.hpp"

#include <algorithm>

namespace agui::session {
namespace {

using test::failing_vfs;
using test::key_of;
using test::recording_observer;
using test::run_of;
using test::slice_of;
using test::SqliteStore;
using test::thread_1;

// The promises to the caller while the file system failed.
struct promises {
    std::int64_t run_number = 0;
    std::vector<std::string> committed; ///< Types of journal entries.
    std::uint64_t durable = 0;
    bool all_kept = true;
};

// Shares most of its text with the event before it, as tokens do.
std::string frame_of(std::uint64_t sequence) {
    return "{\"type\":\"TEXT_MESSAGE_CONTENT\",\"delta\":\"" + std::to_string(sequence * 7919) +
           "\"}";
}

class SqliteStoreFaults : public SqliteStore, public ::testing::WithParamInterface<durability> {
protected:
    static constexpr int turns = 4;

    promises work(store& subject) {
        promises made;
        const auto begun = run(subject.begin(thread_1, run_of("run_1"), {}, 0));
        if (!begun) {
            EXPECT_EQ(begun.error().code, errc::store_unavailable);
            made.all_kept = false;
            return made;
        }
        made.run_number = begun->number;
        const auto observer = std::make_shared<recording_observer>();
        for (std::uint64_t turn = 1; turn <= turns; ++turn) {
            subject.append_log(slice_of(made.run_number, turn, {frame_of(turn)}), observer);
            EXPECT_TRUE(observer->wait_told(turn));
            changes change;
            change.events.push_back({0, "turn." + std::to_string(turn), "run_1", 1, {}});
            const auto committed = run(subject.commit(thread_1, change));
            if (committed) {
                made.committed.push_back(change.events[0].type);
                EXPECT_EQ(get(subject.events(thread_1, 0, 100)).back().type, change.events[0].type);
            } else {
                EXPECT_EQ(committed.error().code, errc::store_unavailable);
                made.all_kept = false;
            }
        }
        // The store answers a read before it keeps the result. After this further read, the result
        // is kept.
        EXPECT_FALSE(get(subject.load(key_of("unknown"))));
        made.durable = observer->durable();
        made.all_kept = made.all_kept && made.durable == turns;
        return made;
    }

    void expect_kept(store& subject, const promises& made) {
        if (made.run_number == 0) {
            return;
        }
        std::vector<std::string> stored;
        for (const session_event& event : get(subject.events(thread_1, 0, 100))) {
            EXPECT_EQ(event.sequence, stored.size() + 1);
            stored.push_back(event.type);
        }
        for (const std::string& type : made.committed) {
            EXPECT_EQ(std::ranges::count(stored, type), 1) << type;
        }
        const auto entries = get(subject.read_log(made.run_number, 0, 100));
        EXPECT_GE(entries.size(), made.durable);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            EXPECT_EQ(entries[i].json, frame_of(i + 1));
        }
    }

    /// Runs the work once for each operation on its files, and lets that operation fail. Returns
    /// the number of operations.
    int fail_each_operation(failing_vfs::failure how, bool expect_all_kept) {
        for (int n = 1;; ++n) {
            SCOPED_TRACE("operation " + std::to_string(n));
            const std::string name = "faults" + std::to_string(n) + ".db";
            failing_vfs files;
            promises made;
            bool has_failed = false;
            {
                sqlite_settings settings;
                settings.path = path(name);
                settings.durability = GetParam();
                const std::unique_ptr<store> subject = make_sqlite_store(settings);
                files.fail_at(n, how);
                made = work(*subject);
                has_failed = files.has_failed();
                files.heal();
                EXPECT_TRUE(made.all_kept || (has_failed && !expect_all_kept));
                // The store is usable as soon as the files are.
                EXPECT_TRUE(run(subject->begin(key_of("after"), run_of("run_1"), {})).has_value());
                expect_kept(*subject, made);
                // A failure while the store is closed must not undo a promise.
                files.fail_at(1, failing_vfs::failure::from_then_on);
            }
            files.heal();
            const std::unique_ptr<store> again = open(name);
            expect_kept(*again, made);
            EXPECT_TRUE(get(again->find_run(key_of("after"), "run_1")));
            if (!has_failed || ::testing::Test::HasFailure()) {
                return n - 1;
            }
        }
    }
};

INSTANTIATE_TEST_SUITE_P(
    Durability, SqliteStoreFaults, ::testing::Values(durability::process, durability::power),
    [](const auto& of) { return of.param == durability::process ? "Process" : "Power"; }
);

TEST_P(SqliteStoreFaults, AnOperationThatFailsOnceIsMadeUpFor) {
    const int operations = fail_each_operation(failing_vfs::failure::once, true);
    EXPECT_GE(operations, GetParam() == durability::power ? 10 : 5);
    RecordProperty("operations", operations);
}

TEST_P(SqliteStoreFaults, NoAcknowledgedCommitIsLostWhereverTheFilesBeginToFail) {
    const int operations = fail_each_operation(failing_vfs::failure::from_then_on, false);
    EXPECT_GE(operations, GetParam() == durability::power ? 10 : 5);
    RecordProperty("operations", operations);
}

class SqliteStoreFailure : public SqliteStore {};

TEST_F(SqliteStoreFailure, IsLoggedOnceUntilItIsOver) {
    failing_vfs files;
    const std::unique_ptr<store> subject = open();
    files.fail_at(1, failing_vfs::failure::from_then_on);
    for (int i = 0; i < 3; ++i) {
        const auto begun = run(subject->begin(thread_1, run_of("run_1"), {}));
        EXPECT_FALSE(begun);
    }
    files.heal();
    begin(*subject, thread_1, "run_1");

    ASSERT_EQ(log().lines().size(), 2U);
    EXPECT_TRUE(log().lines()[0].starts_with("error cannot write to the store"));
    EXPECT_EQ(log().lines()[1], "info the store is writable again");
}

TEST_F(SqliteStoreFailure, TheStoreIsUnavailableUntilATryAtWritingSucceeds) {
    failing_vfs files;
    const std::unique_ptr<store> subject = open();
    EXPECT_EQ(subject->unavailable(), "");
    files.fail_at(1, failing_vfs::failure::from_then_on);
    EXPECT_FALSE(run(subject->begin(thread_1, run_of("run_1"), {})));

    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(subject->unavailable(), "the store is not writable");
        (void)get(subject->load(thread_1)); // This call ends after the failed try.
    }
    files.heal();
    (void)subject->unavailable();
    (void)get(subject->load(thread_1));
    EXPECT_EQ(subject->unavailable(), "");
}

#ifdef AGUI_FAILPOINTS

// On a full disk, the tables' file may have free pages while the journal has no space.
TEST_F(SqliteStoreFailure, TheStoreIsUnavailableWhileTheJournalCannotBeWritten) {
    const std::unique_ptr<store> subject = open();
    const std::int64_t number = begin(*subject, thread_1, "run_1");
    const auto observer = std::make_shared<recording_observer>();
    {
        const failpoint_hook full([](std::string_view place) {
            if (place == "journal.write") {
                throw std::runtime_error("on purpose");
            }
        });
        subject->append_log(slice_of(number, 1, {"a"}), observer);
        for (int i = 0; i < 2; ++i) {
            EXPECT_EQ(subject->unavailable(), "the store is not writable");
            begin(*subject, key_of("other" + std::to_string(i)), "run_1");
        }
    }
    (void)subject->unavailable();
    (void)get(subject->load(thread_1));

    EXPECT_EQ(subject->unavailable(), "");
    subject->append_log(slice_of(number, 1, {"a"}), observer);
    EXPECT_EQ(get(subject->read_log(number, 0, 10)).size(), 1U);
    EXPECT_EQ(get(open_killed_copy("killed.db")->read_log(number, 0, 10)).size(), 1U);
}

#endif

TEST_F(SqliteStoreFailure, TheThreadIsFreeAfterACommitThatCouldNotBeWritten) {
    failing_vfs files;
    const std::unique_ptr<store> subject = open("store.db", durability::power);
    const lease_ptr held = get(subject->acquire(thread_1, "run_1"));
    begin(*subject, thread_1, "run_1");
    files.fail_at(1, failing_vfs::failure::from_then_on);

    const auto committed = run(subject->commit(thread_1, {}, std::nullopt, {held, true}));
    files.heal();

    EXPECT_FALSE(committed);
    EXPECT_FALSE(get(subject->holder(thread_1)));
}

} // namespace
} // namespace agui::session
