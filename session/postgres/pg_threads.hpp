#pragma once

#include "session/postgres/pg_change.hpp"
#include "session/postgres/pg_leases.hpp"
#include "session/postgres/pg_logs.hpp"
#include "session/postgres/pg_runs.hpp"
#include "session/postgres/pg_shared.hpp"
#include "session/postgres/pg_upkeep.hpp"
#include "session/store/store.hpp"
#include "session/store/stored_change.hpp"
#include "session/store/stored_messages.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// The writes to threads: begin, commit, queue and removal. Each is one transaction, which locks
/// the row of the thread first. Functions do the same as those in `store` unless stated otherwise;
/// they throw pg_error or pg_unavailable. Belongs to the store's thread.
class pg_threads {
public:
    struct parts {
        pg_shared& shared;
        pg_gateway& gateway;
        pg_leases& leases;
        pg_logs& logs;
        pg_upkeep& upkeep;
    };
    explicit pg_threads(parts given) : parts_(given) {}

    struct beginning {
        thread_key key;
        run_record run;
        stored_change stored;
        std::optional<std::uint64_t> seen_version;
        lease_ptr held;
    };
    [[nodiscard]] boost::asio::awaitable<result<begun_run>>
    begin(std::shared_ptr<const beginning> what);

    struct committing {
        thread_key key;
        stored_change stored;
        std::optional<log_slice> log;
        held_by by;
    };
    [[nodiscard]] boost::asio::awaitable<result<void>> commit(std::shared_ptr<const committing> what
    );

    [[nodiscard]] boost::asio::awaitable<result<std::int64_t>>
    enqueue(thread_key key, std::shared_ptr<const stored_request> request, queue_limits limits);
    [[nodiscard]] boost::asio::awaitable<result<bool>>
    withdraw(thread_key key, std::int64_t number);

    [[nodiscard]] boost::asio::awaitable<std::vector<left_request>>
    claim_queued(std::vector<std::int64_t> known, std::size_t limit);
    [[nodiscard]] boost::asio::awaitable<result<bool>>
    take_over_queued(std::int64_t number, std::int64_t from);
    [[nodiscard]] boost::asio::awaitable<void> leave_queued(std::int64_t number);

    [[nodiscard]] boost::asio::awaitable<result<bool>>
    set_access(thread_key key, std::vector<access_entry> entries, std::string new_id);

    struct restoring {
        whole_thread what;
        stored_change content; ///< Made of `what.content`.
    };
    [[nodiscard]] boost::asio::awaitable<result<bool>> restore(std::shared_ptr<const restoring> what
    );

    /// Leaves rows to pg_upkeep::erase_removed().
    [[nodiscard]] boost::asio::awaitable<result<bool>> remove(thread_key key);

    [[nodiscard]] boost::asio::awaitable<result<std::vector<store::orphan>>> orphans(lease_ptr held
    );
    /// Copies the journals' entries of the active runs of these threads to rows.
    [[nodiscard]] boost::asio::awaitable<void> settle_all(std::vector<lease_ptr> claims);
    /// The same for runs of this process whose leases are released, but still in the table: their
    /// next owner must find all entries that a reader saw, and this gateway deletes old rows of its
    /// journal.
    [[nodiscard]] boost::asio::awaitable<void> settle_released(std::vector<std::int64_t> runs);

private:
    struct commit_log;

    boost::asio::awaitable<result<begun_run>>
    begin_in(pg_transaction& in, const beginning& what, std::int64_t gateway);
    boost::asio::awaitable<result<begun_run>>
    begin_at_once(pg_transaction& in, const beginning& what, bool is_again);
    /// Tells the rest of the store that a run has begun.
    begun_run note_begun(
        const lease_ptr& held, std::int64_t number, node_index first_own_message,
        pg_logs::keeping log
    );
    boost::asio::awaitable<result<void>>
    commit_with(std::shared_ptr<const committing> what, commit_log& log);
    boost::asio::awaitable<result<void>>
    commit_in(pg_transaction& in, const committing& what, commit_log& log);
    /// The number of this gateway for which the lease is held; 0 if it is no longer held. Ask after
    /// the last wait before the number is used.
    [[nodiscard]] std::int64_t number_holding(const lease& held) const noexcept;
    /// Does settle_runs(), and updates this process's own records of the runs.
    boost::asio::awaitable<void> settle(std::vector<std::int64_t> runs, std::int64_t gateway);
    struct ending; ///< The tries of a commit that ends its run and deletes the lease.
    [[nodiscard]] bool can_end_at_once(const committing& what, const commit_log& log) const;
    boost::asio::awaitable<result<void>>
    end_at_once(pg_transaction& in, const committing& what, commit_log& log, ending& tries);
    /// `found` is the row of pg_leases::select_lease(); without one, loses the lease.
    bool is_still_held(const lease_ptr& held, const pg_rows& found);
    void note_unsure(const std::shared_ptr<const committing>& what, const commit_log& log);
    thread_position
    add_change(pg_batch& to, const committing& what, const thread_position& now) const;

    /// A commit with an unknown outcome. Its run may repeat it.
    struct unsure_commit {
        std::shared_ptr<const committing> what;
        thread_position before;
    };

    parts parts_;
    std::map<lease_ptr, unsure_commit> unsure_;
};

/// Queued requests: the statements that select their rows, and the reader of these, which leaves
/// out messages that it cannot read.
[[nodiscard]] pg_batch select_queued(const thread_key& key);
[[nodiscard]] std::vector<queued_request>
read_queued(const std::vector<pg_rows>& results, agui::logger& log);

} // namespace agui::session
