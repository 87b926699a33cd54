#pragma once

#include "session/sqlite/entry_chain.hpp"
#include "session/sqlite/log_ring.hpp"
#include "session/sqlite/redo_record.hpp"
#include "session/store/store.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace agui::session {

/// The way past the store's queue for active runs: their log entries, commits and starts are
/// durable as soon as they are in the ring. This class decides what may go there, so that every log
/// and every thread stays in order: while entries of a run are queued, its later ones are queued
/// too.
///
/// All functions but those of the last group may be called from any thread.
class live_logs {
public:
    /// The first new run gets the number after `last_number`. Throws std::system_error (log_ring).
    live_logs(const std::string& path, std::uint64_t identity, std::int64_t last_number)
        : last_number_(last_number), ring_(path, identity) {}

    /// A new run number. Every run gets its number here, so that none is used twice.
    [[nodiscard]] std::int64_t take_number() noexcept { return ++last_number_; }

    /// To be called when a run has begun through the queue; its thread now has that size. From here
    /// on its commits, and its entries from sequence 1, may come.
    void open(const thread_key& key, std::int64_t run_number, thread_size size);
    /// To be called when the run has ended or was removed.
    void close(std::int64_t run_number);

    enum class outcome {
        refused, ///< Must be queued.
        durable,
        durable_and_due ///< As durable, and the store's thread should take what has gathered.
    };
    /// Appends entries of a run. Those that are refused count as queued (note_queued).
    [[nodiscard]] outcome append(const log_slice& slice);

    /// Begins the run in `record` and opens it; sets its number. The caller holds the thread and
    /// knows that the record fits it. Moves from `record` unless it is refused. Throws
    /// std::logic_error (check_change).
    [[nodiscard]] outcome begin(redo_record& record);
    /// Commits a change by the thread's run, with the entries in `log`; sets all members of
    /// `record` but its key and change. Moves from `record` unless it is refused. Throws
    /// std::logic_error (check_change).
    [[nodiscard]] outcome commit(redo_record& record, const std::optional<log_slice>& log);
    /// How many records begin() and commit() have taken.
    [[nodiscard]] std::uint64_t commits() const noexcept { return commits_; }

    /// To be called when a commit to the thread is queued: until it is settled, later ones are
    /// refused. Returns the first argument for settle_commit().
    [[nodiscard]] std::int64_t hold_commit(const thread_key& key);
    /// The outcome of that commit. `growth`: the size that its change gives an empty thread;
    /// nullopt: the commit was not stored.
    void settle_commit(std::int64_t held, std::optional<thread_size> growth);

    /// To be called when entries up to `sequence` are queued: until they are settled, later ones
    /// are refused.
    void note_queued(std::int64_t run_number, std::uint64_t sequence);
    /// The outcome of queued entries up to `sequence`.
    void settle(std::int64_t run_number, std::uint64_t sequence, bool durable);

    // The store's thread.

    [[nodiscard]] log_ring& ring() noexcept { return ring_; }

    /// This many records are applied in one transaction: each then costs a third of what it costs
    /// alone, and other calls wait for a few milliseconds at most.
    static constexpr std::size_t records_at_once = 16;

    struct held_record {
        redo_record record;
        log_ring::place behind = 0; ///< Where it ends in the ring.
    };
    /// Appends the gathered records to `records` and returns the end of the ring: they are all that
    /// lie before that place and were not taken yet.
    [[nodiscard]] log_ring::place take(std::vector<held_record>& records);
    /// The same; in addition, the first entry of each run after that place will be encoded whole.
    [[nodiscard]] log_ring::place cut(std::vector<held_record>& records);
    /// Makes the next begin() or commit() report durable_and_due, unless there are records to take
    /// already: then it returns false.
    [[nodiscard]] bool ask_for_next();
    /// Lets begin() refuse all runs, while the store cannot be written: no run starts that could
    /// not be kept.
    void refuse_begins(bool refuse) noexcept { refuses_begins_ = refuse; }

private:
    struct live_run {
        thread_key key;
        thread_size size; ///< Of the thread, with all commits in the ring.
        entry_chain chain;
        std::size_t chain_bytes = 0;
        std::uint64_t durable = 0;        ///< The last durable sequence.
        std::uint64_t queued_through = 0; ///< 0: nothing is queued.
        std::uint32_t queued_commits = 0; ///< Commits to its thread that are not settled.

        void restart() noexcept {
            chain.restart();
            chain_bytes = 0;
        }
    };

    /// The active run to which a commit can belong.
    struct subject {
        std::int64_t run_number = 0;
        thread_size size;
    };
    [[nodiscard]] std::optional<subject> subject_of(const thread_key& key);
    void open_locked(const thread_key& key, std::int64_t run_number, thread_size size);
    void close_locked(std::int64_t run_number);
    [[nodiscard]] bool
    append_entries_locked(live_run& target, const log_slice& slice, std::string_view commit);
    [[nodiscard]] bool is_behind_segment_of(log_ring::place before) const noexcept;
    void move_records(std::vector<held_record>& records);
    template <class Append>
    [[nodiscard]] outcome take_record(redo_record& record, Append append);

    std::atomic<std::int64_t> last_number_;
    std::atomic<std::uint64_t> commits_{0};
    std::atomic<bool> refuses_begins_{false};

    std::mutex mutex_;
    std::unordered_map<std::int64_t, live_run> runs_;
    std::map<thread_key, std::int64_t> threads_; ///< The latest run opened on each.
    std::vector<held_record> records_;
    bool asked_for_next_ = true;
    std::string encoded_;
    log_ring ring_; ///< The mutex is held for append().
};

} // namespace agui::session
