#pragma once

#include "session/sqlite/live_logs.hpp"
#include "session/sqlite/log_ring.hpp"
#include "session/sqlite/redo_record.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_log.hpp"
#include "session/sqlite/sqlite_runs.hpp"
#include "session/sqlite/sqlite_threads.hpp"

#include "session/base/log.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

namespace agui::session {

/// Moves what bypassed the queue (live_logs) to its final place: log entries to sqlite_log, records
/// to the tables. When a record comes here it is durable, and its caller knows. So no record is
/// dropped because the disk is full, and every read of a thread sees the thread's records.
///
/// Records wait, so that many are applied in one transaction. Each transaction begins by applying
/// all of them, and so does a read that they concern.
///
/// Runs on the store's thread. Throws sqlite_error unless stated otherwise.
class sqlite_redo {
public:
    sqlite_redo(
        database& db, sqlite_threads& threads, sqlite_runs& runs, sqlite_log& log,
        std::chrono::milliseconds apply_window, agui::logger& logger
    );

    /// Applies an earlier process's commits that are not in the tables, in one transaction. To be
    /// called before the log is recovered.
    void recover(const std::vector<log_ring::contents::commit>& commits);

    /// From here on there may be records to take. Without this call, only folding is done.
    void use(live_logs& live);

    /// Takes everything and applies it to the tables: the first step of each transaction, whose
    /// outcome committed() or rolled_back() must report.
    void apply();
    void committed() noexcept;
    void rolled_back() noexcept;
    /// A transaction could not be written. Logs the first failure; committed() logs the end of it.
    void failed(const std::exception& error) noexcept;

    // The first step of a read: brings into the tables what was durable before and concerns the
    // read. It stays there if the disk can take it. Otherwise it is visible to later reads too,
    // until end_read(). read_done() ends the read.

    void show(const thread_key& key);
    void show_run(std::int64_t run_number);
    void show_all();
    void read_done() noexcept;
    /// To be called before any other transaction: undoes what show() could apply only for reads,
    /// because the disk was full. It will be applied again.
    void end_read() noexcept;

    /// How many records were taken from live_logs.
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

    /// Takes what has gathered in live_logs.
    void take_live() noexcept;
    /// The time by which step() must be called; nullopt: nothing waits.
    [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> due() const noexcept;
    /// True while step() has something to do.
    [[nodiscard]] bool has_work() const noexcept;
    /// Applies the records to the tables if there are many or they have waited long enough, or does
    /// a step of folding; each in its own transaction. After a failure, records are retried after
    /// the window, and folding once a commit succeeds.
    void step() noexcept;
    /// Calls step() until there is no more work, which is also so after a failure.
    void take_all_steps() noexcept;
    /// Folds everything. False: it failed, and the ring's contents are still needed.
    [[nodiscard]] bool fold_all() noexcept;

private:
    enum class chains { go_on, restart };

    [[nodiscard]] bool is_due() const noexcept;
    void take(chains how);
    void begin_read();
    [[nodiscard]] bool apply_now(chains how) noexcept;
    void apply_held();
    void apply_one(const redo_record& record);
    void apply_or_leave_out(const redo_record& record);
    void set_applied(log_ring::place through);

    database& db_;
    sqlite_threads& threads_;
    sqlite_runs& runs_;
    sqlite_log& log_;
    const std::chrono::milliseconds apply_window_;
    agui::logger& logger_;
    statement set_applied_;
    live_logs* live_ = nullptr;

    std::vector<live_logs::held_record> held_;  ///< Not in the tables yet, oldest first.
    std::chrono::steady_clock::time_point due_; ///< When they are to be applied, if there are any.
    std::size_t applied_ = 0;         ///< How many of them the current transaction has applied.
    std::optional<transaction> read_; ///< The transaction in which reads see them.
    std::uint64_t taken_ = 0;
    bool take_wanted_ = false;
    bool one_by_one_ = false; ///< One of them does not fit: each gets a savepoint, to find it.
    bool fails_ = false;      ///< The last transaction failed; the log says so once.
};

} // namespace agui::session
