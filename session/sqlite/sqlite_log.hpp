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

/// The logs of all runs. Entries that bypass the queue are in a ring (live_logs); a transaction
/// writes those that were queued, of all runs, as one row, a page. Both are also kept in memory, in
/// one tail per run, so that a run's log can be read without them. Once the tails hold some hundred
/// kilobytes they are folded: written as rows of their runs, in small steps; then the pages are
/// deleted and the ring is released. Pages, and the ring of an earlier process, are read only when
/// the store is opened.
///
/// Runs on the store's thread. Functions that write must be called in a transaction, except
/// recover(), fold_step() and fold_all(), which make their own. Throws sqlite_error.
class sqlite_log {
public:
    sqlite_log(database& db, sqlite_runs& runs, agui::logger& log);

    /// Reads what an earlier process left in pages and in the ring (nullptr: there is none); to be
    /// called once, before anything else. Marks runs whose bytes are lost as damaged; with
    /// `ring_is_lost`, all active ones.
    void recover(const log_ring::contents* ring, bool ring_is_lost);

    /// From here on entries also bypass the queue. To be called after recover(), before anything is
    /// read or staged.
    void use(log_ring& ring) noexcept;

    /// Adds the entries of the ring's records up to `until` to the tails.
    void take_live(log_ring::place until);

    /// To be called when a new run has begun, and when it has ended. In between its tail stays in
    /// memory, so that the end of its log need not be looked up.
    void run_begun(std::int64_t run_number);
    void run_ended(std::int64_t run_number);
    /// To be called when the run was removed.
    void run_removed(std::int64_t run_number) { tails_.erase(run_number); }

    /// Looks up where a run's log ends, for stage(). To be called before the transaction changes
    /// the run's record.
    void open(std::int64_t run_number) { (void)tail_of(run_number); }
    /// Adds the entries to the transaction. False, without effect: there is no such run, or they do
    /// not continue its log because earlier entries failed.
    [[nodiscard]] bool stage(const log_slice& slice);
    /// Writes what was staged.
    void write_staged();
    /// Deletes the logs of these runs.
    void erase(const std::vector<std::int64_t>& run_numbers);

    /// The size of all logs, without entries that are not yet folded.
    [[nodiscard]] std::uint64_t row_bytes() const noexcept { return row_bytes_; }
    /// The same of one run's log.
    [[nodiscard]] std::uint64_t row_bytes_of(std::int64_t run_number);

    // The outcome of a transaction.

    /// What it staged and erased takes effect.
    void committed() noexcept;
    /// What it staged and erased is forgotten.
    void rolled_back() noexcept;

    /// As store::read_log().
    [[nodiscard]] result<std::vector<log_entry>>
    read(std::int64_t run_number, std::uint64_t after, std::size_t limit);
    /// Where the run's log ends, even if it was dropped; 0: it never had an entry.
    [[nodiscard]] std::uint64_t last_sequence_of(std::int64_t run_number);

    /// True while fold_step() has something to do.
    [[nodiscard]] bool fold_pending() const noexcept;
    /// True if the next step should start a new fold.
    [[nodiscard]] bool fold_starts() const noexcept;
    /// One step of folding, in a transaction of its own, or of preparing the ring: a fraction of a
    /// millisecond to a few. After a failure, which is logged, folding pauses. Starts a new fold
    /// only with `may_start`, which means: all runs with entries are in the tables, and the ring
    /// was taken up to a place after which every run continues with a whole entry.
    void fold_step(bool may_start) noexcept;
    /// Pauses folding.
    void rest() noexcept { fold_rests_ = true; }
    /// Ends a pause: a commit has succeeded, so that folding may succeed as well.
    void resume() noexcept { fold_rests_ = false; }
    /// Folds everything; no more entries may come. False: it failed, and the ring's contents are
    /// still needed.
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
        std::uint64_t end = 0;      ///< The last durable sequence.
        std::uint64_t staged = 0;   ///< The last sequence, with those of the current transaction.
        entry_chain chain;          ///< As of `staged`.
        std::size_t open_bytes = 0; ///< Of the last chunk, as of `staged`.
        std::vector<chunk> chunks;
        std::size_t folded = 0; ///< How many of the chunks are rows.
        bool is_live = false;   ///< The tail is kept even if there is nothing to fold.
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
    std::int64_t fold_through_ = 0;         ///< Pages up to this one hold only what is folded now,
    log_ring::place fold_ring_through_ = 0; ///< and so does the ring before this place.
    log_ring::place taken_ = 0;             ///< The ring's contents before this are in the tails.
    bool fold_wanted_ = false;
    bool fold_rests_ = false;
    bool fold_fails_ = false; ///< The last step failed; the log says so once.

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
