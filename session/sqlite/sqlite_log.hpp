#pragma once

#include "session/sqlite/entry_chain.hpp"
#include "session/sqlite/log_page.hpp"
#include "session/sqlite/log_ring.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_runs.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace agui::session {

/// The logs of all runs. Entries that bypass the queue are in a ring (live_logs); a commit writes
/// its slices of all runs as one row, a page. So that a run can be read without reading these,
/// their contents are also kept in memory, in one tail per run. When the tails reach some hundred
/// kilobytes they are folded: each is written as rows of its run, in small steps; then the pages
/// are deleted and the ring is released. Both are read only when the store is opened.
///
/// Runs on the store's thread. Functions that write expect a transaction, except fold_step().
/// Throws sqlite_error.
class sqlite_log {
public:
    sqlite_log(database& db, sqlite_runs& runs, agui::logger& log);

    /// Reads what an earlier process left in pages and in the ring (nullptr: no ring); to be called
    /// once, before anything else. Marks runs of which bytes are lost; with `ring_is_lost`, all
    /// active ones.
    void recover(const log_ring::contents* ring, bool ring_is_lost);

    /// From here on entries also bypass the queue. To be called before anything is read or written.
    void use(log_ring& ring) noexcept;

    /// Takes the ring's records up to `until`.
    void take_live(log_ring::place until);

    /// A run with a new record has begun; it has ended. Between the two calls the end of its log is
    /// not looked up.
    void run_begun(std::int64_t run_number);
    void run_ended(std::int64_t run_number);
    /// The run was removed.
    void run_removed(std::int64_t run_number) { tails_.erase(run_number); }

    /// Looks up where a run's log ends; to be called before the transaction changes the run's
    /// record.
    void open(std::int64_t run_number) { (void)tail_of(run_number); }
    /// Adds the entries to the transaction. False, without effect: there is no such run, or they do
    /// not continue its log because earlier entries failed.
    [[nodiscard]] bool stage(const log_slice& slice);
    /// Writes what was staged.
    void write_staged();
    /// Deletes the logs of these runs.
    void erase(const std::vector<std::int64_t>& run_numbers);

    /// The size of the logs: of all runs, of one. Entries not yet folded do not count.
    [[nodiscard]] std::uint64_t row_bytes() const noexcept { return row_bytes_; }
    [[nodiscard]] std::uint64_t row_bytes_of(std::int64_t run_number);

    /// The transaction has succeeded: what it staged and erased takes effect.
    void committed() noexcept;
    void rolled_back() noexcept;

    [[nodiscard]] result<std::vector<log_entry>>
    read(std::int64_t run_number, std::uint64_t after, std::size_t limit);
    /// 0 if there are no entries.
    [[nodiscard]] std::uint64_t last_sequence_of(std::int64_t run_number);

    /// True while fold_step() has something to do.
    [[nodiscard]] bool fold_pending() const noexcept;
    /// True if the next step should start a new fold.
    [[nodiscard]] bool fold_starts() const noexcept;
    /// One step of folding, in a transaction of its own: a fraction of a millisecond to a few. Does
    /// not throw: after a failure, folding pauses. Starts a new fold only if `may_start`: all runs
    /// with entries must be in the tables, and the ring taken up to where each run continues with a
    /// whole entry.
    void fold_step(bool may_start) noexcept;
    void rest() noexcept { fold_rests_ = true; }
    /// A commit has succeeded.
    void resume() noexcept { fold_rests_ = false; }
    /// Folds everything. False: it failed, and the ring's contents are still needed.
    [[nodiscard]] bool fold_all() noexcept;

private:
    // Entries as a row of run_logs will hold them: each with its own entry_chain.
    struct chunk {
        std::uint64_t first_sequence = 0;
        std::uint32_t count = 0;
        std::string bytes;
    };
    // The last part of a run's log: everything that no row of run_logs holds.
    struct tail {
        std::uint64_t end = 0;      ///< Last durable sequence.
        std::uint64_t staged = 0;   ///< Last sequence of the current transaction.
        entry_chain chain;          ///< As of `staged`.
        std::size_t open_bytes = 0; ///< Of the last chunk, as of `staged`.
        std::vector<chunk> chunks;
        std::size_t folded = 0; ///< How many of the chunks are rows.
        bool is_live =
            false; ///< More will come: the tail is kept even if there is nothing to fold.
    };
    struct staged_slice {
        encoded_slice slice; ///< Without its bytes:
        std::size_t offset;  ///< where they begin in staged_bytes_,
        std::size_t size;    ///< and how many they are.
    };
    using tail_map = std::unordered_map<std::int64_t, tail>;

    void read_pages(std::unordered_map<std::int64_t, std::vector<page_slice>>& from_ring);
    void recover_before(std::uint64_t sequence, std::vector<page_slice>& from_ring);
    void recover_or_mark(const page_slice& held);
    tail* tail_of(std::int64_t run_number);
    [[nodiscard]] std::uint64_t end_of_rows(std::int64_t run_number);
    void write_page();
    [[nodiscard]] bool recover_slice(const page_slice& held);
    [[nodiscard]] static std::size_t open_bytes_of(const tail& target) noexcept;
    void keep(tail& target, const encoded_slice& slice);
    [[nodiscard]] bool wants_segment() const noexcept;
    [[nodiscard]] bool is_folding() const noexcept;
    [[nodiscard]] bool fold_is_due() const noexcept;
    void start_fold();
    void fold_tails();
    void delete_pages();

    database& db_;
    sqlite_runs& runs_;
    log_ring* ring_ = nullptr;
    agui::logger& log_;
    statement add_page_;
    statement delete_pages_;
    statement add_run_log_;
    statement read_run_log_;
    statement end_of_run_log_;
    statement bytes_of_run_log_;
    statement erase_run_log_;

    tail_map tails_;
    tail_map folding_;
    std::size_t tail_bytes_ = 0;
    std::int64_t first_page_ = 1;
    std::int64_t next_page_ = 1;
    std::int64_t fold_through_ = 0;         ///< Pages up to this one hold only what is in folding_;
    log_ring::place fold_ring_through_ = 0; ///< so does the ring up to here.
    log_ring::place taken_ = 0;             ///< The ring's contents before this are in the tails.
    bool fold_wanted_ = false;
    bool fold_rests_ = false;
    bool fold_fails_ = false; ///< The last step failed; logged once.

    std::vector<std::int64_t> damaged_; ///< Found by recover().
    std::vector<std::int64_t> unreadable_pages_;

    log_page_writer page_;
    std::vector<staged_slice> staged_;
    std::string staged_bytes_;
    std::vector<std::int64_t> erased_;
    std::uint64_t row_bytes_ = 0;
    std::uint64_t erased_row_bytes_ = 0; ///< By the current transaction.
};

} // namespace agui::session
