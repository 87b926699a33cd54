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

/// The logs of all runs. What comes past the queue is in a ring (live_logs); a commit writes the
/// slices of all runs that come with it as one row, a page. So that a run can be read without
/// reading these, what they hold is kept in memory as well, in one tail per run. When the tails
/// reach some hundred kilobytes they are folded: each is written as rows of its run, in small
/// steps; then the pages are deleted and the ring is released. Both are read only when the store is
/// opened.
///
/// Runs on the store's thread. Functions that write expect a transaction, except fold_step().
/// Throws sqlite_error.
class sqlite_log {
public:
    sqlite_log(database& db, sqlite_runs& runs, agui::logger& log);

    /// Reads what a former process left in pages and, nullptr: nothing, in the ring; to be called
    /// once, before anything else. Runs of which bytes are lost are marked; with `ring_is_lost`,
    /// those that are active.
    void recover(const log_ring::contents* ring, bool ring_is_lost);

    /// From here on entries come past the queue as well. Before anything is read or written.
    void use(log_ring& ring) noexcept;

    /// Takes what is in the ring up to there.
    void take_live(log_ring::place until);

    /// The run of a new record; and that it has ended. Between the two its log's end is not looked
    /// up.
    void run_begun(std::int64_t run_number);
    void run_ended(std::int64_t run_number);
    /// It was removed.
    void run_removed(std::int64_t run_number) { tails_.erase(run_number); }

    /// Looks up where a run's log ends; to be called before the transaction changes the run's
    /// record.
    void open(std::int64_t run_number) { (void)tail_of(run_number); }
    /// Makes the entries part of the transaction. False, without effect: there is no such run, or
    /// they do not continue its log, because entries before them failed.
    [[nodiscard]] bool stage(const log_slice& slice);
    /// Writes what was staged.
    void write_staged();
    /// Deletes the logs of these runs.
    void erase(const std::vector<std::int64_t>& run_numbers);

    /// What the logs take: of all runs, of one. What is not folded yet does not count.
    [[nodiscard]] std::uint64_t row_bytes() const noexcept { return row_bytes_; }
    [[nodiscard]] std::uint64_t row_bytes_of(std::int64_t run_number);

    /// What the transaction staged and erased is so.
    void committed() noexcept;
    void rolled_back() noexcept;

    [[nodiscard]] result<std::vector<log_entry>>
    read(std::int64_t run_number, std::uint64_t after, std::size_t limit);
    /// 0 if there are no entries.
    [[nodiscard]] std::uint64_t last_sequence_of(std::int64_t run_number);

    /// True while fold_step() has something to do.
    [[nodiscard]] bool fold_pending() const noexcept;
    /// True if the next step should begin to fold what there is.
    [[nodiscard]] bool fold_starts() const noexcept;
    /// One step of folding, in a transaction of its own: a fraction of a millisecond to a few. Does
    /// not throw: after a failure, folding rests. It begins to fold only if it `may_start`: all
    /// runs of which there are entries must be in the tables, and the ring taken up to where each
    /// run goes on with a whole entry.
    void fold_step(bool may_start) noexcept;
    void rest() noexcept { fold_rests_ = true; }
    /// A commit has succeeded.
    void resume() noexcept { fold_rests_ = false; }
    /// Folds everything. False: it could not, and what is in the ring is still needed.
    [[nodiscard]] bool fold_all() noexcept;

private:
    // Entries as a row of run_logs will hold them: an entry_chain of its own.
    struct chunk {
        std::uint64_t first_sequence = 0;
        std::uint32_t count = 0;
        std::string bytes;
    };
    // The last part of a run's log: everything that no row of run_logs holds.
    struct tail {
        std::uint64_t end = 0;      ///< Last durable sequence.
        std::uint64_t staged = 0;   ///< Last sequence of the transaction that is going on.
        entry_chain chain;          ///< As of `staged`.
        std::size_t open_bytes = 0; ///< Of the last chunk, as of `staged`.
        std::vector<chunk> chunks;
        std::size_t folded = 0; ///< How many of the chunks are rows.
        bool is_live = false;   ///< More will come: kept when there is nothing to fold.
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
    std::int64_t fold_through_ = 0; ///< Pages up to this one hold nothing but what is in folding_;
    log_ring::place fold_ring_through_ = 0; ///< so does the ring up to here.
    log_ring::place taken_ = 0;             ///< What is before this in the ring is in the tails.
    bool fold_wanted_ = false;
    bool fold_rests_ = false;
    bool fold_fails_ = false; ///< The last step did: logged once.

    std::vector<std::int64_t> damaged_; ///< Found by recover().
    std::vector<std::int64_t> unreadable_pages_;

    log_page_writer page_;
    std::vector<staged_slice> staged_;
    std::string staged_bytes_;
    std::vector<std::int64_t> erased_;
    std::uint64_t row_bytes_ = 0;
    std::uint64_t erased_row_bytes_ = 0; ///< By the transaction that is going on.
};

} // namespace agui::session
