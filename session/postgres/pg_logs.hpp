#pragma once

#include "session/base/mutex.hpp"
#include "session/postgres/pg_gateway.hpp"
#include "session/postgres/pg_journal.hpp"
#include "session/postgres/pg_log_rows.hpp"
#include "session/postgres/pg_shared.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace agui::session {

/// Entries of this process's active runs on their way to the database. append() only puts them in
/// memory; the store's thread writes the entries of all runs in one transaction, and the next ones
/// as soon as that is committed. Slices that may wait are collected for a while. Only one of two
/// writers has a run's entries at a time: write(), or the commit that has taken them.
///
/// The entries of a run go into the journal of this gateway (pg_journal.hpp). From time to time,
/// and with each commit of the run, its entries there are copied to a row of agui.log_rows.
/// Memory: up to 16 KB for each run besides the entries that wait to be written.
///
/// Everything but append() belongs to the store's thread.
class pg_logs {
public:
    struct settings {
        bool relaxed = false; ///< Entries count as durable before they are on the disk.
        std::chrono::milliseconds batch{0}; ///< See postgres_settings::batch.
        /// Entries of a run that have been in the journal for this long become a row.
        std::chrono::milliseconds longest_in_journal{10'000};
        /// Interval of the search for these entries, and of the deletion of old journal rows.
        std::chrono::milliseconds between_sweeps{5'000};
    };
    /// The references must outlive this.
    pg_logs(pg_shared& shared, pg_gateway& gateway, settings given);

    /// Like store::append_log(). Safe to call from any thread.
    void append(
        const log_slice& slice, const std::shared_ptr<log_observer>& observer, const lease_ptr& held
    );

    /// in_journal: the record of the run names the journal of this gateway.
    enum class keeping : std::uint8_t { in_journal, in_rows };
    /// Opens a run that has begun, or that continues after its entry `end`. It is open until
    /// close(), or until `held` (if it is not null) becomes invalid.
    void open(
        std::int64_t run, std::uint64_t end, const lease_ptr& held, keeping how = keeping::in_rows
    );
    /// No earlier row of the journal has entries of a run that begins now.
    [[nodiscard]] std::uint64_t next_journal_row() const noexcept { return next_journal_row_; }
    /// Notes that the records of these runs no longer name the journal: all entries are in rows,
    /// which others may have written.
    void leave_journal(const std::vector<std::int64_t>& runs);
    /// Waits until no writer has entries of these runs. Their leases are released, so none will be
    /// written later. Returns the runs that have entries in the journal.
    [[nodiscard]] boost::asio::awaitable<std::vector<std::int64_t>>
    wait_for_writers(std::vector<std::int64_t> runs);
    /// Closes a run that has ended, or that no longer belongs to this process.
    void close(std::int64_t run);
    /// Drops all entries that are not written, because the gateway has lost its leases.
    void lose_all();

    struct waiting {
        std::uint64_t sequence = 0;
        std::shared_ptr<log_observer> observer;
    };
    /// A run's entries that a commit writes.
    struct taken {
        std::int64_t run = 0;
        bool is_known = false; ///< True if the run is open. Otherwise the rest is meaningless.
        bool has_failed = false;
        bool is_journaled = false;
        std::uint64_t end = 0; ///< The last entry.
        pg_log_row row;        ///< May be empty.
        pg_chain chain;        ///< Entries before the row that only the journal has.
        pg_log_size stored;    ///< Size of the rows of agui.log_rows, once this is committed.
        std::vector<waiting> observers;
    };
    /// Waits until no other writer has entries of the run, and takes them: give_back() must follow.
    /// `last` (if not 0) is the last sequence of a slice that the commit also writes and which
    /// continues after `end`; later entries follow it.
    [[nodiscard]] boost::asio::awaitable<taken> take(std::int64_t run, std::uint64_t last);
    enum class outcome {
        committed,
        refused, ///< The entries are still to be written.
        unknown  ///< They may have been written: they count as lost until a commit has looked.
    };
    /// `durable` is the last sequence that was committed, including the commit's own slice.
    void give_back(taken entries, outcome of_commit, std::uint64_t durable);

    /// Waits until the entries appended before, of one run or of all (0), are durable or lost. They
    /// no longer wait for other entries.
    [[nodiscard]] boost::asio::awaitable<void> flush(std::int64_t run);
    /// Writes until finish(), and then the entries that are left. Call it once.
    [[nodiscard]] boost::asio::awaitable<void> write();
    /// Makes append() refuse further entries.
    void finish();
    /// Names of the connections on which no acknowledged entry can be missing.
    [[nodiscard]] const std::set<std::string>& known_connections() const noexcept {
        return known_connections_;
    }
    /// Number of known runs: open ones, and for a while some that were lost.
    [[nodiscard]] std::size_t size() const;

private:
    using clock = std::chrono::steady_clock;
    /// The list that holds a run whose entries are to be written.
    enum class list : std::uint8_t { none, waiting, due };
    struct run_log {
        std::uint64_t end = 0;     ///< The last entry that was accepted.
        std::uint64_t durable = 0; ///< The last one that is durable.
        bool has_failed = false;
        bool may_be_there = false; ///< Failed entries may have been written nevertheless.
        bool is_busy = false;      ///< A writer has its entries.
        bool may_wait = false;     ///< All pending entries may wait for others.
        list in = list::none;
        /// Time at which the writer last took its entries; nullopt if not since a commit.
        std::optional<clock::time_point> last_write;
        lease_ptr held; ///< May be null.
        pg_log_row pending;
        bool is_journaled = false;
        pg_chain chain;                ///< Entries in the journal; empty while a writer has them.
        std::uint64_t oldest_part = 0; ///< First row of the journal that may have some; 0 if none.
        clock::time_point chain_begun{}; ///< Time at which that row was written.
        pg_log_size stored;
        std::vector<waiting> observers;
    };
    /// Entries that the writer is writing.
    struct writing : taken {
        bool becomes_row = false; ///< The row gets the entries of the chain, too.
        bool is_first = false;    ///< The run has no entries yet.
        std::string part; ///< Part for the journal; if empty, `row` goes into agui.log_rows.
        std::optional<pg_chain::mark> before; ///< The chain without the part.
        /// Estimated size of its row or part.
        [[nodiscard]] std::size_t bytes_to_write() const noexcept;
        [[nodiscard]] bool has_room() const noexcept;
    };
    using batch = std::vector<writing>;

    [[nodiscard]] batch collect(clock::time_point now);
    [[nodiscard]] bool is_silent(const run_log& log) const;
    void make_waiting_due(clock::time_point now) AGUI_REQUIRES(mutex_);
    void hurry(std::int64_t run) AGUI_REQUIRES(mutex_);
    boost::asio::awaitable<void> write_batch(batch entries, std::int64_t gateway);
    boost::asio::awaitable<std::exception_ptr> try_write(batch& entries, std::int64_t gateway);
    boost::asio::awaitable<std::string> write_rows(const batch& entries, std::int64_t gateway);
    boost::asio::awaitable<void>
    look_for_losses(std::string connection, std::int64_t gateway, batch& entries);
    [[nodiscard]] std::unordered_map<std::int64_t, std::uint64_t> ends_of_rows(const batch& entries
    ) const;
    static void take_for_batch(batch& to, std::int64_t run, run_log& log);
    void look_for_old_chains(clock::time_point begun_before);
    void take_old_chains(batch& to, std::size_t bytes) AGUI_REQUIRES(mutex_);
    void note_parts(const batch& entries, std::uint64_t journal_row);
    static void prepare(writing& entries);
    static void make_row(writing& entries);
    [[nodiscard]] clock::time_point next_wake(clock::time_point now) AGUI_REQUIRES(mutex_);
    [[nodiscard]] std::uint64_t oldest_part_needed() const;
    [[nodiscard]] std::vector<std::int64_t> journaled_without_lease() const;
    boost::asio::awaitable<bool> knows_runs_of_journal();
    boost::asio::awaitable<void> clean_journal();
    boost::asio::awaitable<void> leave_runs_of_others();
    void lose_after(std::int64_t run, std::uint64_t end);
    void drop_failed(batch& entries);
    static void note_durable(run_log& log, const taken& entries, std::uint64_t durable);
    [[nodiscard]] static std::vector<waiting> put_back(run_log& log, taken& entries);
    void settle(writing& entries);
    void fail(taken& entries, bool may_be_there);
    void fail(writing& entries, bool may_be_there);
    void make_due(std::int64_t run, run_log& log) AGUI_REQUIRES(mutex_);
    void forget_lost() AGUI_REQUIRES(mutex_);
    enum class urgency : std::uint8_t { none, may_wait, at_once };
    void wake_writer(urgency how) AGUI_REQUIRES(mutex_);
    void wake_waiters();
    boost::asio::awaitable<void> wait_for_change();

    pg_shared& shared_;
    pg_gateway& gateway_;
    const settings settings_;
    mutable mutex mutex_;
    std::unordered_map<std::int64_t, run_log> runs_ AGUI_GUARDED_BY(mutex_);
    std::vector<std::int64_t> due_ AGUI_GUARDED_BY(mutex_); ///< Runs that have entries to write.
    /// Runs that have entries to write at next_batch_.
    std::vector<std::int64_t> waiting_ AGUI_GUARDED_BY(mutex_);
    clock::time_point next_batch_ AGUI_GUARDED_BY(mutex_){};
    /// From this number of runs on, some may be lost.
    std::size_t forget_at_ AGUI_GUARDED_BY(mutex_) = 64;
    /// Work that the writer finds by itself.
    urgency writer_knows_ AGUI_GUARDED_BY(mutex_) = urgency::none;
    bool is_finished_ AGUI_GUARDED_BY(mutex_) = false;
    boost::asio::steady_timer writer_timer_; // This and the rest belong to the store's thread.
    std::uint64_t next_journal_row_ = 1;
    std::uint64_t last_journal_row_ = 0; ///< The last one that was acknowledged; 0 if none was.
    std::uint64_t cleaned_before_ = 1;   ///< Earlier rows of the journal are deleted.
    std::int64_t cleaned_at_ = -1;       ///< pg_gateway::timeline() at the last cleaning.
    std::int64_t writer_ = 0;            ///< The gateway number under which they were written.
    clock::time_point next_sweep_{};
    /// Chains begun up to this time become rows: they are old, or the server has lost some of their
    /// parts.
    clock::time_point chains_old_at_{};
    bool has_old_chains_ = false;                   ///< True if there may be such chains.
    std::list<boost::asio::steady_timer*> waiters_; ///< Calls of take() and flush().
    /// Connections known to predate no data loss of the server: a crash, or a standby that takes
    /// over, ends all connections.
    std::set<std::string> known_connections_;
};

} // namespace agui::session
