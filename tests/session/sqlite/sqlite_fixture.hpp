#pragma once

#include "session/sqlite/sqlite_db.hpp"
#include "tests/session/store/store_fixture.hpp"

#include <chrono>
#include <filesystem>
#include <future>

namespace agui::test {

inline const session::thread_key thread_1 = key_of("thread_1");

// Holds the store's thread between two commits, so that everything queued meanwhile is one batch.
class gate final : public session::log_observer {
public:
    void on_durable(std::uint64_t) noexcept override {
        reached_.set_value();
        opened_.get_future().wait();
    }
    void on_failed() noexcept override { reached_.set_value(); }

    void wait_reached() { reached_.get_future().wait(); }
    void open() { opened_.set_value(); }

private:
    std::promise<void> reached_;
    std::promise<void> opened_;
};

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
        settings.apply_window = apply_window_;
        settings.logger = &log_;
        return session::make_sqlite_store(settings);
    }

    /// What a killed process leaves: the files as they are while the store is open.
    void copy_files(std::string_view name) const {
        // What leaves the ring in between is in the others.
        for (const char* suffix : {"-log", "", "-wal"}) {
            std::filesystem::copy_file(
                path() + suffix, path(name) + suffix,
                std::filesystem::copy_options::overwrite_existing
            );
        }
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

    /// Two runs whose entries share one page; the store is closed again.
    std::pair<std::int64_t, std::int64_t> write_shared_page() {
        const std::unique_ptr<session::store> subject =
            open("store.db", session::durability::power);
        const std::int64_t one = begin(*subject, key_of("one"), "run_1");
        const std::int64_t two = begin(*subject, key_of("two"), "run_1");
        const auto held = std::make_shared<gate>();
        const auto observer = std::make_shared<recording_observer>();
        subject->append_log(slice_of(one, 1, {"first of one"}), held);
        held->wait_reached();
        subject->append_log(slice_of(one, 2, {"second of one", "third of one"}), nullptr);
        subject->append_log(slice_of(two, 1, {"first of two"}), observer);
        held->open();
        EXPECT_TRUE(observer->wait_durable(1));
        return {one, two};
    }

    /// Changes one byte of the page that holds `marker`, `offset` bytes from where it is found, or
    /// from the page's end if negative.
    void damage_page(std::string_view marker, std::ptrdiff_t offset) {
        session::database db(path());
        std::int64_t page = 0;
        std::string bytes;
        {
            session::statement select(db, "SELECT page, slices FROM log_pages");
            session::statement::rows row = select.query();
            while (row.next()) {
                if (row.blob(1).find(marker) != std::string_view::npos) {
                    page = row.integer(0);
                    bytes = row.blob(1);
                }
            }
        }
        const std::size_t at = offset < 0 ? bytes.size() - static_cast<std::size_t>(-offset)
                                          : bytes.find(marker) + static_cast<std::size_t>(offset);
        bytes.at(at) = static_cast<char>(bytes.at(at) ^ 0x20);
        session::statement update(db, "UPDATE log_pages SET slices = ? WHERE page = ?");
        update.execute(session::blob_view{bytes}, page);
    }

    [[nodiscard]] temporary_folder& folder() noexcept { return folder_; }
    [[nodiscard]] memory_logger& log() noexcept { return log_; }

    /// Of the stores that are opened from now on.
    void set_apply_window(std::chrono::milliseconds window) noexcept { apply_window_ = window; }

private:
    temporary_folder folder_;
    memory_logger log_;
    std::chrono::milliseconds apply_window_{std::chrono::hours(1)};
};

} // namespace agui::test
