#pragma once

#include "session/sqlite/journal.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "tests/session/store/store_fixture.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace agui::test {

class SqliteStore : public coroutine_test {
protected:
    [[nodiscard]] std::string path(std::string_view name = "store.db") const {
        return folder_.file(name);
    }

    [[nodiscard]] std::unique_ptr<session::store> open(
        std::string_view name = "store.db",
        session::durability durability = session::durability::process
    ) {
        session::sqlite_settings settings;
        settings.path = path(name);
        settings.durability = durability;
        settings.journal_file_bytes = journal_file_bytes_;
        settings.logger = &log_;
        return session::make_sqlite_store(settings);
    }

    /// Copies the files of an open store, as a killed process leaves them.
    void copy_files(std::string_view name) const {
        for (const std::string& old : journal_files(name)) {
            std::filesystem::remove(old);
        }
        // The last file is copied first, so entries that are written meanwhile are missing at the
        // end. Entries that leave the journal meanwhile are in the copy of the other files.
        const std::vector<std::string> files = journal_files("store.db");
        for (auto file = files.rbegin(); file != files.rend(); ++file) {
            copy_file(*file, path(name) + file->substr(path().size()));
        }
        copy_file(path(), path(name));
        copy_file(path() + "-wal", path(name) + "-wal");
    }

    /// The journal's files, oldest first.
    [[nodiscard]] std::vector<std::string> journal_files(std::string_view name) const {
        std::vector<std::string> files;
        for (const std::uint64_t number : session::journal::files_of(path(name) + "-log")) {
            files.push_back(session::journal::name_of(path(name) + "-log", number));
        }
        return files;
    }

    [[nodiscard]] std::unique_ptr<session::store> open_killed_copy(std::string_view name) {
        copy_files(name);
        return open(name);
    }

    template <class T>
    T get(boost::asio::awaitable<result<T>> call) {
        result<T> outcome = run(std::move(call));
        return std::move(outcome).value();
    }

    void done(boost::asio::awaitable<result<void>> call) {
        const result<void> outcome = run(std::move(call));
        EXPECT_TRUE(outcome.has_value()) << (outcome ? "" : outcome.error().detail);
    }

    std::int64_t
    begin(session::store& subject, const session::thread_key& key, std::string run_id) {
        return get(subject.begin(key, run_of(std::move(run_id)), {})).number;
    }

    errc log_failure(session::store& subject, std::int64_t run_number) {
        const auto entries = run(subject.read_log(run_number, 0, 1000));
        return entries ? errc::internal : entries.error().code;
    }

    [[nodiscard]] temporary_folder& folder() noexcept { return folder_; }
    [[nodiscard]] memory_logger& log() noexcept { return log_; }

    /// Applies to stores that are opened from now on.
    void set_journal_file_bytes(std::size_t bytes) noexcept { journal_file_bytes_ = bytes; }

private:
    static void copy_file(const std::string& from, const std::string& to) {
        std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
    }

    temporary_folder folder_;
    memory_logger log_;
    std::size_t journal_file_bytes_ = std::size_t{64} << 20U;
};

} // namespace agui::test
