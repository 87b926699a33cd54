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
/// memory; the store's thread writes those of all runs in one transaction, and the next ones as
/// soon as that is committed. Slices that may wait are collected for a while. A run's entries are
/// with one of two writers at a time: write(), or the commit that has taken them.
///
/// The entries of a run go into the journal of this gateway (pg_journal.hpp). From time to time,
/// and with each commit of the run, its entries there are copied to a row of agui.log_rows.
/// Memory: up to 16 KB for each run besides the entries that wait to be written.
///
/// Everything but append() belongs to the store's thread.
class pg_logs {
public:
    struct settings {
        bool relaxed = false;               ///< Entries are durable without the disk.
        std::chrono::milliseconds batch{0}; ///< As postgres_settings::batch.
        /// Entries of a run that have been in the journal for so long become a row.
        std::chrono::milliseconds longest_in_journal{10'000};
        /// Interval of the search for these entries, and of the deletion of old journal rows.
        std::chrono::milliseconds between_sweeps{5'000};
    };
    /// The references must outlive this.
    pg_logs(pg_shared& shared, pg_gateway& gateway, settings given);

    /// As store::append_log(). Any thread.
    void append(
        const log_slice& slice, const std::shared_ptr<log_observer>& observer, const lease_ptr& held
    );

    /// in_journal: the record of the run names the journal of this gateway.
    enum class keeping : std::uint8_t { in_journal, in_rows };
    /// The run has begun, or goes on after its entry `end`. It is open until close(), or as long as
    /// `held` (if it is not null) is worth anything.
    void open(
        std::int64_t run, std::uint64_t end, const lease_ptr& held, keeping how = keeping::in_rows
    );
    /// No earlier row of the journal has entries of a run that begins now.
    [[nodiscard]] std::uint64_t next_journal_row() const noexcept { return next_journal_row_; }
    /// The records of these runs do not name the journal any more: all entries are in rows, which
    /// others may have written.
    void leave_journal(const std::vector<std::int64_t>& runs);
    /// Waits until nobody writes entries of these runs. Their leases are released, so none will be
    /// written later. Returns those that have entries in the journal.
    [[nodiscard]] boost::asio::awaitable<std::vector<std::int64_t>>
    wait_for_writers(std::vector<std::int64_t> runs);
    /// The run has ended, or is no longer this process's.
    void close(std::int64_t run);
    /// The gateway has lost its leases: what is not written is lost.
    void lose_all();

    struct waiting {
        std::uint64_t sequence = 0;
        std::shared_ptr<log_observer> observer;
    };
    /// A run's entries that a commit writes.
    struct taken {
        std::int64_t run = 0;
        bool is_known = false; ///< The run is open. Otherwise the rest says nothing.
        bool has_failed = false;
        bool is_journaled = false;
        std::uint64_t end = 0; ///< The last entry.
        pg_log_row row;        ///< May be empty.
        pg_chain chain;        ///< Entries before the row that only the journal has.
        pg_log_size stored;    ///< Rows of agui.log_rows, once this is committed.
        std::vector<waiting> observers;
    };
    /// Waits until nobody else writes entries of the run, and takes them: give_back() must follow.
    /// `last` (if not 0) is that of a slice that the commit writes besides, and which goes on after
    /// `end`: later entries follow it.
    [[nodiscard]] boost::asio::awaitable<taken> take(std::int64_t run, std::uint64_t last);
    enum class outcome {
        committed,
        refused, ///< They are still to be written.
        unknown  ///< They may be there: they count as lost until a commit has looked.
    };
    /// `durable`: up to where they were committed, with the slice that the commit wrote besides.
    void give_back(taken entries, outcome of_commit, std::uint64_t durable);

    /// Waits until what was appended before, of one run or of all (0), is durable or lost. Nothing
    /// of it waits for other entries any more.
    [[nodiscard]] boost::asio::awaitable<void> flush(std::int64_t run);
    /// Writes until finish(), and then what is left. To be called once.
    [[nodiscard]] boost::asio::awaitable<void> write();
    /// No more entries are accepted.
    void finish();
    /// Names of connections on which nothing that was acknowledged can be missing.
    [[nodiscard]] const std::set<std::string>& known_connections() const noexcept {
        return known_connections_;
    }
    /// How many runs it knows: open ones, and for a while some that were lost.
    [[nodiscard]] std::size_t size() const;

private:
    using clock = std::chrono::steady_clock;
    /// Where a run is whose entries are to be written.
    enum class list : std::uint8_t { none, waiting, due };
    struct run_log {
        std::uint64_t end = 0;     ///< The last entry that was accepted.
        std::uint64_t durable = 0; ///< The last one that is durable.
        bool has_failed = false;
        bool may_be_there = false; ///< Failed entries may have been written nevertheless.
        bool is_busy = false;      ///< Somebody writes its entries.
        bool may_wait = false;     ///< All that is pending may wait for other entries.
        list in = list::none;
        /// When the writer last took its entries; nullopt: not since a commit.
        std::optional<clock::time_point> last_write;
        lease_ptr held; ///< May be null.
        pg_log_row pending;
        bool is_journaled = false;
        pg_chain chain;                  ///< Entries in the journal; empty while somebody writes.
        std::uint64_t oldest_part = 0;   ///< First row of the journal that may have some; 0: none.
        clock::time_point chain_begun{}; ///< When that row was written.
        pg_log_size stored;
        std::vector<waiting> observers;
    };
    /// Entries that the writer has.
    struct writing : taken {
        bool becomes_row = false; ///< The row gets the entries of the chain, too.
        bool is_first = false;    ///< The run has no entries yet.
        std::string part;         ///< For the journal; empty: `row` goes into agui.log_rows.
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
    /// Runs that have some to write at next_batch_.
    std::vector<std::int64_t> waiting_ AGUI_GUARDED_BY(mutex_);
    clock::time_point next_batch_ AGUI_GUARDED_BY(mutex_){};
    std::size_t forget_at_ AGUI_GUARDED_BY(mutex_) = 64; ///< So many runs that some may be lost.
    urgency writer_knows_ AGUI_GUARDED_BY(mutex_) = urgency::none; ///< What it looks for by itself.
    bool is_finished_ AGUI_GUARDED_BY(mutex_) = false;
    boost::asio::steady_timer writer_timer_; // The rest is the store's thread's.
    std::uint64_t next_journal_row_ = 1;
    std::uint64_t last_journal_row_ = 0; ///< The last one that was acknowledged; 0: none.
    std::uint64_t cleaned_before_ = 1;   ///< Earlier rows of the journal are deleted.
    std::int64_t cleaned_at_ = -1;       ///< pg_gateway::timeline() of the last cleaning.
    std::int64_t writer_ = 0;            ///< The number of the gateway that wrote them.
    clock::time_point next_sweep_{};
    /// Chains that were begun by then become rows: they are old, or the server has lost some of
    /// their parts.
    clock::time_point chains_old_at_{};
    bool has_old_chains_ = false;                   ///< There may be some.
    std::list<boost::asio::steady_timer*> waiters_; ///< Of take() and flush().
    /// Connections since whose begin the server has lost nothing that it had acknowledged: a crash,
    /// or a standby that takes over, ends all connections.
    std::set<std::string> known_connections_;
};

} // namespace agui::session
