#include "session/sqlite/sqlite_db.hpp"
#include "tests/session/sqlite/failing_vfs.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

namespace agui::session {
namespace {

using test::failing_vfs;

class SqliteVfs : public ::testing::Test {
protected:
    SqliteVfs() {
        open();
        db_->execute("PRAGMA journal_mode = WAL");
        db_->execute("PRAGMA synchronous = NORMAL");
        db_->execute("PRAGMA cache_size = 20"); // Pages of larger transactions go to the log early.
        db_->execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, bytes BLOB)");
    }

    /// Closes the connection first, if it is open.
    void open() {
        db_.emplace(folder_.file("test.db"));
        db_->execute("PRAGMA locking_mode = EXCLUSIVE"); // This mode needs no shared memory.
    }

    /// Opens the files as a process leaves them that is killed now.
    void open_killed_copy() {
        for (const char* suffix : {"", "-wal"}) {
            std::filesystem::copy_file(
                folder_.file("test.db") + suffix, folder_.file("copy.db") + suffix
            );
        }
        db_.emplace(folder_.file("copy.db"));
        db_->execute("PRAGMA locking_mode = EXCLUSIVE");
    }

    void insert(std::int64_t first, std::int64_t count) {
        statement add(*db_, "INSERT INTO rows VALUES (?, ?)");
        for (std::int64_t number = first; number < first + count; ++number) {
            add.execute(number, blob_view{text_of(number)});
        }
    }

    void expect_rows(std::int64_t count) {
        statement select(*db_, "SELECT number, bytes FROM rows ORDER BY number");
        statement::rows row = select.query();
        for (std::int64_t number = 0; number < count; ++number) {
            ASSERT_TRUE(row.next());
            ASSERT_EQ(row.integer(0), number);
            ASSERT_EQ(row.blob(1), text_of(number));
        }
        EXPECT_FALSE(row.next());
    }

    [[nodiscard]] database& db() { return *db_; }
    [[nodiscard]] failing_vfs& files() noexcept { return files_; }

private:
    static std::string text_of(std::int64_t number) {
        return std::string(1500, static_cast<char>('a' + number % 26)) + std::to_string(number);
    }

    test::temporary_folder folder_;
    failing_vfs files_;
    std::optional<database> db_;
};

TEST_F(SqliteVfs, ATransactionIsOneWrite) {
    files().fail_at(2, failing_vfs::failure::once);
    transaction change(db());
    insert(0, 20);
    change.commit();

    EXPECT_FALSE(files().has_failed());
    expect_rows(20);
}

TEST_F(SqliteVfs, AWriteThatFailsFailsTheCommit) {
    {
        transaction change(db());
        insert(0, 10);
        change.commit();
    }
    files().fail_at(1, failing_vfs::failure::once);
    {
        transaction change(db());
        insert(10, 10);
        EXPECT_THROW(change.commit(), sqlite_error);
    }
    expect_rows(10);
    {
        transaction change(db());
        insert(10, 10);
        change.commit();
    }
    open();
    expect_rows(20);
}

// SQLite writes some frames of such a transaction twice. When it writes the last frame, it corrects
// the heads of all frames after them.
TEST_F(SqliteVfs, ACommitThatRewritesItsOwnFramesIsWhole) {
    {
        transaction change(db());
        insert(0, 200);
        change.commit();
    }
    {
        transaction change(db());
        insert(200, 200); // More rows than the cache holds.
        db().execute("UPDATE rows SET bytes = bytes || 'x' WHERE number = 205");
        db().execute(
            "UPDATE rows SET bytes = substr(bytes, 1, length(bytes) - 1) WHERE number = 205"
        );
        insert(400, 1);
        change.commit();
    }
    open_killed_copy();
    expect_rows(401);
}

TEST_F(SqliteVfs, ReadsBackWrittenBytes) {
    for (const bool keep : {false, true}) {
        transaction change(db());
        insert(0, 1000);
        expect_rows(1000);
        if (keep) {
            change.commit();
        }
    }
    expect_rows(1000);
    db().execute("PRAGMA wal_checkpoint(TRUNCATE)");
    expect_rows(1000);
    {
        transaction change(db());
        insert(1000, 10);
        change.commit();
    }
    open();
    expect_rows(1010);
}

} // namespace
} // namespace agui::session
