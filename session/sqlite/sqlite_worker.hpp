#pragma once

#include "session/sqlite/sqlite_tables.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"
#include "session/base/mutex.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace agui::session {

/// One call of the store, carried out on its thread.
class store_job {
public:
    virtual ~store_job() = default;
    /// Does the work. May be called again after everything that it did was rolled back. Throws
    /// sqlite_error; it keeps other failures for complete().
    virtual void execute() = 0;
    /// Returns false if execute() has done one slice of a read and must be called again; other jobs
    /// may run first.
    [[nodiscard]] virtual bool is_complete() const noexcept { return true; }
    /// Returns false if the writes of execute() must be rolled back.
    [[nodiscard]] virtual bool succeeded() const noexcept = 0;
    /// Replaces the outcome by a failure.
    virtual void fail(failure reason) = 0;
    /// Notifies the caller; the last call.
    virtual void complete() noexcept = 0;
};

/// The thread that owns the connection. Everything that is queued is written in one transaction, in
/// the order of the calls, each job in a savepoint of its own if there are several; then the
/// callers are notified. A failed transaction is rolled back, and each of its jobs is retried once,
/// alone. A read runs after the writes that were queued before it; at most one read runs between
/// two transactions, so that reads delay no commit for long.
///
/// All public functions may be called from any thread.
class sqlite_worker {
public:
    struct settings {
        std::chrono::microseconds group_window;
    };

    /// The arguments must outlive this; only its thread uses the tables, except as they allow.
    sqlite_worker(sqlite_tables& tables, agui::logger& logger, settings given);
    ~sqlite_worker();
    sqlite_worker(const sqlite_worker&) = delete;
    sqlite_worker& operator=(const sqlite_worker&) = delete;

    void write(std::unique_ptr<store_job> job);
    void read(std::unique_ptr<store_job> job);

    /// Syncs the journal and notifies `observer` that entries up to `sequence`, which are in it,
    /// are durable, or that they are not. All entries within the group window are synced together,
    /// and before any job that is queued later takes effect.
    void sync(std::uint64_t sequence, std::shared_ptr<log_observer> observer);

    /// Asks the thread to look for upkeep of the log.
    void look_for_upkeep();

    /// True if the disk took the last transaction and the last entries of the journal.
    [[nodiscard]] bool can_write() const noexcept;
    /// Asks the thread to test the disk again.
    void try_write();

    /// Carries out the queued jobs and ends the thread. Later jobs fail at once, on the caller's
    /// thread.
    void close();

private:
    struct awaited_sync {
        std::uint64_t sequence;
        std::shared_ptr<log_observer> observer;
    };
    struct work {
        std::vector<awaited_sync> syncs;
        std::vector<std::unique_ptr<store_job>> writes;
        std::unique_ptr<store_job> read;
        bool upkeep_due = false;
        bool try_due = false;
    };
    using job_span = std::vector<std::unique_ptr<store_job>>;

    void run() noexcept;
    [[nodiscard]] bool take(work& next);
    void await_work() AGUI_REQUIRES(mutex_);
    void enqueue(std::unique_ptr<store_job> job, bool is_read);

    void sync_now(std::vector<awaited_sync>& syncs) noexcept;
    void carry_out(job_span& jobs);
    [[nodiscard]] bool try_transaction(const std::unique_ptr<store_job>* first, std::size_t count);
    void execute(store_job& next);
    void read_now(std::unique_ptr<store_job> job);
    void try_write_now() noexcept;
    void committed() noexcept;
    void rolled_back() noexcept;
    void failed(const std::exception& error) noexcept;

    sqlite_tables& tables_;
    sqlite_log& log_; ///< Part of the tables.
    agui::logger& logger_;
    const settings settings_;
    bool fails_ = false;               ///< The last transaction failed; the log says so once.
    std::atomic<bool> has_disk_{true}; ///< The disk took the last transaction.

    mutex mutex_;
    condition wake_;
    std::vector<awaited_sync> syncs_ AGUI_GUARDED_BY(mutex_);
    std::chrono::steady_clock::time_point oldest_sync_ AGUI_GUARDED_BY(mutex_);
    std::vector<std::unique_ptr<store_job>> writes_ AGUI_GUARDED_BY(mutex_);
    std::deque<std::unique_ptr<store_job>> reads_ AGUI_GUARDED_BY(mutex_);
    bool upkeep_due_ AGUI_GUARDED_BY(mutex_) = true; ///< Also at the start.
    bool try_due_ AGUI_GUARDED_BY(mutex_) = false;
    bool sleeping_ AGUI_GUARDED_BY(mutex_) = false; ///< The thread is idle.
    bool closing_ AGUI_GUARDED_BY(mutex_) = false;

    std::jthread thread_; // Last: it uses all of the above.
};

} // namespace agui::session
