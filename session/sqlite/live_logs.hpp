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

/// The way past the store's queue, for what runs do that are going on: their log entries, their
/// commits, and their begin are durable as soon as they are in the ring. Which may go there, so
/// that every log and every thread stays in order: while entries of a run are queued, what is
/// after them is queued as well.
///
/// Everything but the last group may be called from any thread.
class live_logs {
public:
    /// Runs are numbered from the one after `last_number` on. Throws std::system_error (log_ring).
    live_logs(const std::string& path, std::uint64_t identity, std::int64_t last_number)
        : last_number_(last_number), ring_(path, identity) {}

    /// A number for a run. All runs have theirs from here, so that none is used twice.
    [[nodiscard]] std::int64_t take_number() noexcept { return ++last_number_; }

    /// A run has begun that was queued, on a thread that has that size now: what it does may come,
    /// its entries from sequence 1.
    void open(const thread_key& key, std::int64_t run_number, thread_size size);
    /// It has ended.
    void close(std::int64_t run_number);

    enum class outcome {
        refused, ///< To be queued; entries count as with hold().
        durable,
        durable_and_due ///< And the owner should take what has come together.
    };
    [[nodiscard]] outcome append(const log_slice& slice);

    /// Begins the run as open() does; the caller holds the thread and knows that the record fits.
    /// The record is taken unless it is refused. Throws std::logic_error (check_change).
    [[nodiscard]] outcome begin(redo_record& record);
    /// Commits what the thread's run does, with the entries in `log`; everything of `record` but
    /// its key and change is set here. The record is taken unless it is refused. Throws
    /// std::logic_error (check_change).
    [[nodiscard]] outcome commit(redo_record& record, const std::optional<log_slice>& log);
    /// How many times one of the two took a record.
    [[nodiscard]] std::uint64_t commits() const noexcept { return commits_; }

    /// A commit to the thread is being queued; returns what settle_commit() wants.
    [[nodiscard]] std::int64_t hold_commit(const thread_key& key);
    /// What became of it: how the thread has grown, if it was stored.
    void settle_commit(std::int64_t held, std::optional<thread_size> growth);

    /// Entries up to `sequence` are being queued.
    void hold(std::int64_t run_number, std::uint64_t sequence);
    /// What became of queued entries up to `sequence`.
    void settle(std::int64_t run_number, std::uint64_t sequence, bool durable);

    // The store's thread.

    [[nodiscard]] log_ring& ring() noexcept { return ring_; }

    /// So many records are due, and become one transaction: one costs a third of what it costs
    /// alone, and other calls wait for a few milliseconds at most.
    static constexpr std::size_t records_at_once = 16;

    struct held_record {
        redo_record record;
        log_ring::place behind = 0; ///< It ends here.
    };
    /// Moves the records that have come together to the end of `records`: all that are before the
    /// place that is returned.
    [[nodiscard]] log_ring::place take(std::vector<held_record>& records);
    /// The same; and the first entry of each run after that place is encoded whole.
    [[nodiscard]] log_ring::place cut(std::vector<held_record>& records);
    /// False: there are records to take already. Otherwise the next one is told to be due.
    [[nodiscard]] bool ask_for_next();
    /// Begins are refused while the store cannot be written, so that nobody starts what cannot be
    /// kept for long.
    void refuse_begins(bool refuse) noexcept { refuses_begins_ = refuse; }

private:
    struct live_run {
        thread_key key;
        thread_size size; ///< Of the thread.
        entry_chain chain;
        std::size_t chain_bytes = 0;
        std::uint64_t durable = 0;        ///< Last sequence that is.
        std::uint64_t queued_through = 0; ///< 0: nothing is queued.
        std::uint32_t queued_commits = 0; ///< To its thread.

        void restart() noexcept {
            chain.restart();
            chain_bytes = 0;
        }
    };

    /// A run that a commit can be of, as of now.
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
    std::map<thread_key, std::int64_t> threads_; ///< The run that was opened last on each.
    std::vector<held_record> records_;
    bool asked_for_next_ = true;
    std::string encoded_;
    log_ring ring_; ///< append() with the mutex held.
};

} // namespace agui::session
