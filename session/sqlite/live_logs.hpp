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

/// The way past the store's queue for active runs: their log entries, commits and start are durable
/// as soon as they are in the ring. Decides what may go there, so that every log and every thread
/// stays in order: while entries of a run are queued, later ones are queued as well.
///
/// All functions but the last group may be called from any thread.
class live_logs {
public:
    /// Runs are numbered from the one after `last_number` on. Throws std::system_error (log_ring).
    live_logs(const std::string& path, std::uint64_t identity, std::int64_t last_number)
        : last_number_(last_number), ring_(path, identity) {}

    /// A new run number. All runs get theirs here, so that none is used twice.
    [[nodiscard]] std::int64_t take_number() noexcept { return ++last_number_; }

    /// A run has begun through the queue, on a thread that now has that size: its changes may come,
    /// its entries from sequence 1.
    void open(const thread_key& key, std::int64_t run_number, thread_size size);
    /// It has ended.
    void close(std::int64_t run_number);

    enum class outcome {
        refused, ///< Must be queued; entries count as with note_queued().
        durable,
        durable_and_due ///< And the owner should take what has gathered.
    };
    [[nodiscard]] outcome append(const log_slice& slice);

    /// Begins the run as open() does; the caller holds the thread and knows that the record fits.
    /// The record is taken unless it is refused. Throws std::logic_error (check_change).
    [[nodiscard]] outcome begin(redo_record& record);
    /// Commits a change by the thread's run, with the entries in `log`; sets all members of
    /// `record` but its key and change. The record is taken unless it is refused. Throws
    /// std::logic_error (check_change).
    [[nodiscard]] outcome commit(redo_record& record, const std::optional<log_slice>& log);
    /// How often one of the two took a record.
    [[nodiscard]] std::uint64_t commits() const noexcept { return commits_; }

    /// A commit to the thread is being queued; returns what settle_commit() wants.
    [[nodiscard]] std::int64_t hold_commit(const thread_key& key);
    /// The outcome of that commit: how the thread has grown, if it was stored.
    void settle_commit(std::int64_t held, std::optional<thread_size> growth);

    /// Entries up to `sequence` are being queued.
    void note_queued(std::int64_t run_number, std::uint64_t sequence);
    /// The outcome of queued entries up to `sequence`.
    void settle(std::int64_t run_number, std::uint64_t sequence, bool durable);

    // The store's thread.

    [[nodiscard]] log_ring& ring() noexcept { return ring_; }

    /// At this many, records are due and become one transaction: each then costs a third of what it
    /// costs alone, and other calls wait for a few milliseconds at most.
    static constexpr std::size_t records_at_once = 16;

    struct held_record {
        redo_record record;
        log_ring::place behind = 0; ///< It ends here.
    };
    /// Moves the gathered records to the end of `records`: all those before the returned place.
    [[nodiscard]] log_ring::place take(std::vector<held_record>& records);
    /// The same; in addition, the first entry of each run after that place is encoded whole.
    [[nodiscard]] log_ring::place cut(std::vector<held_record>& records);
    /// False: there are records to take already. Otherwise the next append reports that it is due.
    [[nodiscard]] bool ask_for_next();
    /// Refuses new runs while the store cannot be written, so that no run starts that could not be
    /// kept.
    void refuse_begins(bool refuse) noexcept { refuses_begins_ = refuse; }

private:
    struct live_run {
        thread_key key;
        thread_size size; ///< Of the thread.
        entry_chain chain;
        std::size_t chain_bytes = 0;
        std::uint64_t durable = 0;        ///< The last durable sequence.
        std::uint64_t queued_through = 0; ///< 0: nothing is queued.
        std::uint32_t queued_commits = 0; ///< To its thread.

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
    log_ring ring_; ///< append() with the mutex held.
};

} // namespace agui::session
