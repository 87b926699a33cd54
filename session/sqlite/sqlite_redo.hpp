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

/// Brings what came past the queue (live_logs) to where it stays: log entries to sqlite_log,
/// records to the tables. A record is durable, and its caller was told, before this sees it; so
/// none is given up because the disk is full, and none is shown to nobody: what is read of a thread
/// has the thread's records in it.
///
/// Records wait, so that many become one transaction. Each transaction begins with all of them, and
/// so does a read that they concern.
///
/// Runs on the store's thread. Throws sqlite_error where nothing else is said.
class sqlite_redo {
public:
    sqlite_redo(
        database& db, sqlite_threads& threads, sqlite_runs& runs, sqlite_log& log,
        std::chrono::milliseconds apply_window, agui::logger& logger
    );

    /// Does what of a former process's commits is not in the tables, in one transaction. Before the
    /// log is recovered.
    void recover(const std::vector<log_ring::contents::commit>& commits);

    /// From here on there is something to take. Without it this has nothing to do but fold.
    void use(live_logs& live);

    /// Takes everything and does it to the tables: the start of each transaction. To be followed by
    /// committed() or rolled_back().
    void apply();
    void committed() noexcept;
    void rolled_back() noexcept;
    /// A transaction could not be written; the next that can is told to the log.
    void failed(const std::exception& error) noexcept;

    /// Within a read, before the tables are read: they have what was durable before. They keep it
    /// if the disk can take it; otherwise the reads that follow have it as well, until end_read().
    /// read_done() ends the read.
    void show(const thread_key& key);
    void show_run(std::int64_t run_number);
    void show_all();
    void read_done() noexcept;
    /// Before any other transaction: what reads have seen of records that the disk could not take
    /// is to be done to the tables once more.
    void end_read() noexcept;

    /// How many records were taken.
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

    /// Takes what has come together.
    void take_live() noexcept;
    /// When there is something to do for step() at the latest; nullopt: nothing waits.
    [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> due() const noexcept;
    /// True while step() has something to do.
    [[nodiscard]] bool has_work() const noexcept;
    /// Does the records to the tables if there are many or they have waited long enough, or takes a
    /// step of folding; each in a transaction of its own. Does not throw: what failed is tried
    /// again after the window, folding when a commit succeeds.
    void step() noexcept;
    /// Until has_work() says that there is nothing to do, or a step fails.
    void take_all_steps() noexcept;
    /// Folds everything. False: it could not, and what is in the ring is still needed.
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
    std::chrono::steady_clock::time_point due_; ///< If there are any: at once if there are many.
    std::size_t applied_ = 0; ///< So many of them the transaction that is going on has done.
    std::optional<transaction> read_; ///< Records were done to the tables for a read.
    std::uint64_t taken_ = 0;
    bool take_wanted_ = false;
    bool one_by_one_ = false; ///< One of them does not fit: which is found out.
    bool fails_ = false;      ///< The last transaction did: logged once.
};

} // namespace agui::session
