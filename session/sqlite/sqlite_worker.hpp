#pragma once

#include "session/sqlite/live_logs.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_log.hpp"
#include "session/sqlite/sqlite_redo.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace agui::session {

/// One call of the store, carried out on its thread.
class store_job {
public:
    virtual ~store_job() = default;
    /// Does the work. May be called a second time, after everything that the first one did was
    /// rolled back. Throws what SQLite throws; other failures are kept for complete().
    virtual void execute() = 0;
    /// False: that was one slice of a read; execute() must be called again after other jobs had a
    /// turn.
    [[nodiscard]] virtual bool is_complete() const noexcept { return true; }
    /// False: what execute() wrote must not stay.
    [[nodiscard]] virtual bool succeeded() const noexcept = 0;
    /// Replaces the outcome.
    virtual void fail(failure reason) = 0;
    /// Notifies the caller; the last call.
    virtual void complete() noexcept = 0;
};

/// The thread that owns the connection. Everything that is queued is written in one transaction, in
/// the order of the calls, each job in a savepoint of its own if there are several; then observers
/// and callers are notified. If that transaction fails it is rolled back and each job is tried once
/// more alone. A read runs after the writes queued before it; between two transactions there is at
/// most one read, so that reads delay no commit for long.
///
/// append, write and read may be called from any thread.
class sqlite_worker {
public:
    struct settings {
        std::chrono::microseconds group_window;
    };

    /// The arguments must outlive this; its thread alone uses all but `live` (null: none).
    sqlite_worker(
        database& db, sqlite_log& log, sqlite_redo& redo, live_logs* live, agui::logger& logger,
        settings given
    );
    ~sqlite_worker();
    sqlite_worker(const sqlite_worker&) = delete;
    sqlite_worker& operator=(const sqlite_worker&) = delete;

    /// A short lock and a move; wakes the thread only if it is idle. If a stalled disk has let 128
    /// MB pile up, the log fails (P11).
    void append(log_slice slice, std::shared_ptr<log_observer> observer);
    void write(std::unique_ptr<store_job> job);
    void read(std::unique_ptr<store_job> job);
    /// How many writes were queued; and, on the store's thread, how many of them were carried out.
    [[nodiscard]] std::uint64_t writes_queued() const noexcept { return writes_queued_; }
    [[nodiscard]] std::uint64_t writes_done() const noexcept { return writes_done_; }

    /// Soon takes what has gathered in `live`.
    void take_live();

    /// Carries out what is queued and ends the thread. Later calls fail.
    void close();

private:
    // A write: a job, or log entries that only an observer waits for.
    struct item {
        std::unique_ptr<store_job> job;
        log_slice entries;
        std::shared_ptr<log_observer> observer;
        bool accepted = false;
    };
    struct work {
        std::vector<item> writes;
        std::unique_ptr<store_job> read;
        bool live_due = false;
    };

    void run() noexcept;
    [[nodiscard]] bool take(work& next);
    void await_work(std::unique_lock<std::mutex>& lock);
    void wait_for_company(
        std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point deadline
    );
    void enqueue(std::unique_ptr<store_job> job, bool is_read);

    void carry_out(std::vector<item>& writes);
    void carry_out_alone(item* first, item* last);
    [[nodiscard]] bool try_transaction(item* first, item* last);
    void rolled_back() noexcept;
    void execute(item& next);
    void read_now(std::unique_ptr<store_job> job);
    void tell(item& done) noexcept;

    database& db_;
    sqlite_log& log_;
    sqlite_redo& redo_;
    live_logs* const live_;
    agui::logger& logger_;
    settings settings_;
    std::atomic<std::uint64_t> writes_queued_{0};
    std::uint64_t writes_done_ = 0;
    bool expecting_entries_ = false; ///< The last batch had some: more will come soon.

    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<item> writes_;
    std::size_t queued_bytes_ = 0; ///< Of log entries in writes_.
    std::deque<std::unique_ptr<store_job>> reads_;
    std::chrono::steady_clock::time_point oldest_write_;
    bool urgent_ = false;   ///< A caller waits: do not wait for more entries.
    bool live_due_ = false; ///< take_live() was called.
    bool sleeping_ = false; ///< The thread is idle (not set while it waits for more entries).
    bool closing_ = false;

    std::jthread thread_; // Last: it uses all of the above.
};

} // namespace agui::session
