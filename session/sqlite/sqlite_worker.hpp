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
    /// Does the work. May be called again after everything that it did was rolled back. Throws
    /// sqlite_error; other failures are kept for complete().
    virtual void execute() = 0;
    /// False: execute() has done one slice of a read and must be called again; other jobs may run
    /// first.
    [[nodiscard]] virtual bool is_complete() const noexcept { return true; }
    /// False: what execute() wrote must be rolled back.
    [[nodiscard]] virtual bool succeeded() const noexcept = 0;
    /// Replaces the outcome by a failure.
    virtual void fail(failure reason) = 0;
    /// Notifies the caller; the last call.
    virtual void complete() noexcept = 0;
};

/// The thread that owns the connection. Everything that is queued is written in one transaction, in
/// the order of the calls, each job in a savepoint of its own if there are several; then observers
/// and callers are notified. A transaction that fails is rolled back, and each of its jobs is tried
/// once more, alone. A read runs after the writes that were queued before it; at most one read runs
/// between two transactions, so that reads delay no commit for long.
///
/// append(), write(), read(), take_live() and writes_queued() may be called from any thread.
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

    /// Queues log entries; cheap. `observer` (may be null) learns the outcome. If 128 MB have piled
    /// up, because the disk is stalled, the entries fail (P11).
    void append(log_slice slice, std::shared_ptr<log_observer> observer);
    void write(std::unique_ptr<store_job> job);
    void read(std::unique_ptr<store_job> job);
    /// How many jobs were given to write().
    [[nodiscard]] std::uint64_t writes_queued() const noexcept { return writes_queued_; }
    /// How many of them were carried out. To be called on the store's thread.
    [[nodiscard]] std::uint64_t writes_done() const noexcept { return writes_done_; }

    /// Asks the thread to take what has gathered in `live`.
    void take_live();

    /// Carries out what is queued and ends the thread. Jobs and entries that come later fail at
    /// once, on the caller's thread.
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
    bool expecting_entries_ = false; ///< The last batch ended with some: more will come soon.

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
