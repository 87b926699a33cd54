#pragma once

#include "session/base/mutex.hpp"
#include "session/postgres/pg_gateway.hpp"
#include "session/postgres/pg_shared.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace agui::session {

/// The runs that hold threads: in the table agui.leases for all processes, and in memory for this
/// one, so that local holders need no query. Belongs to the store's thread, except for functions
/// that say "any thread".
class pg_leases {
public:
    /// Called with runs whose leases are released, before their rows are deleted
    /// (pg_threads::settle_released()). If it throws pg_error or pg_unavailable, the leases are
    /// released later.
    using before_release = std::function<boost::asio::awaitable<void>(std::vector<std::int64_t>)>;
    /// The references must outlive this.
    pg_leases(pg_shared& shared, pg_gateway& gateway, before_release prepare);

    /// Like store::acquire().
    [[nodiscard]] boost::asio::awaitable<result<lease_ptr>>
    acquire(thread_key key, std::string run_id);
    /// Like store::holder().
    [[nodiscard]] boost::asio::awaitable<result<std::optional<thread_holder>>> holder(thread_key key
    );
    /// Asks for the holder of the thread in another process.
    [[nodiscard]] pg_statement select_holder(const thread_key& key) const;
    /// The holder that select_holder() has found; nullopt if there is none.
    [[nodiscard]] static std::optional<thread_holder> holder_in(const pg_rows& found);
    /// Like store::claim_orphans().
    [[nodiscard]] boost::asio::awaitable<result<std::vector<lease_ptr>>>
    claim_orphans(std::size_t limit);

    /// Any thread. write_releases() deletes the lease in the background.
    void release(const lease_ptr& held) noexcept;
    /// Deletes released leases, and leases that failed acquisitions may have left, until close().
    /// Call it once.
    [[nodiscard]] boost::asio::awaitable<void> write_releases();
    /// Makes the next claim_orphans() look for active runs without a lease.
    void expect_strays() noexcept { strays_seen_at_.reset(); }
    /// Writes the releases queued so far.
    [[nodiscard]] boost::asio::awaitable<void> flush();

    /// Notes that a transaction that deletes the lease is under way. A local call that asks for the
    /// thread waits until it is released, because others may see sooner that the run has ended.
    void ends_with_commit(const lease_ptr& held);
    /// Notes that the committed transaction has deleted the lease.
    void released_by_commit(const lease_ptr& held) noexcept;
    void set_begun(const lease_ptr& held, std::int64_t run_number, node_index first_own_message);
    /// Notes that the lease is no longer in the table.
    void lose(const lease_ptr& held);
    /// Notes that all leases are lost.
    void lose_all();
    void close() noexcept;

    /// The holder of the thread in this process. Any thread.
    [[nodiscard]] std::optional<thread_holder> holder_here(const thread_key& key) const;
    /// The run that holds the thread in this process; nullopt if none does. Any thread.
    [[nodiscard]] std::optional<std::string> run_here(const thread_key& key) const;
    /// The number of the run that began with this lease; 0 if none did.
    [[nodiscard]] std::int64_t run_of(const lease_ptr& held) const;

    // Statements for the transactions of other classes.

    /// One row: whether the lease is still in the table.
    [[nodiscard]] pg_statement select_lease(const lease& held) const;
    [[nodiscard]] pg_statement
    note_run(const lease& held, std::int64_t run, node_index first) const;
    [[nodiscard]] pg_statement delete_lease(const lease& held) const;

private:
    struct entry {
        std::string run_id;
        lease_ptr held; ///< Null while it is being acquired.
        std::int64_t run_number = 0;
        node_index first_own_message = no_node;
        std::shared_ptr<boost::asio::steady_timer> ending; ///< Cancelled when the lease is gone.
    };
    struct answer {
        std::optional<std::uint64_t> token;
        bool has_orphans = false; ///< With a token: true if the thread has orphans.
        std::string holder;       ///< Without a token: the run that holds it.
        std::int64_t gateway = 0; ///< The gateway of that run;
        bool has_expired = false; ///< true if it has not renewed in time.
    };
    [[nodiscard]] boost::asio::awaitable<result<lease_ptr>>
    acquire_in_table(thread_key key, std::string run_id);
    [[nodiscard]] boost::asio::awaitable<bool>
    has_number(std::chrono::steady_clock::time_point give_up);
    [[nodiscard]] boost::asio::awaitable<answer>
    ask(const thread_key& key, const std::string& run_id, std::int64_t gateway,
        std::int64_t attempt);
    [[nodiscard]] std::shared_ptr<boost::asio::steady_timer> ending_of(const thread_key& key) const;
    void erase(std::map<thread_key, entry>::iterator gone) AGUI_REQUIRES(mutex_);
    /// A thread without a holder, as in the table once the claim is committed.
    struct claim {
        thread_key key;
        std::uint64_t token;
    };
    [[nodiscard]] boost::asio::awaitable<bool> claim_in(
        pg_transaction& in, const std::vector<std::int64_t>& left_by, std::int64_t gateway,
        std::size_t limit, std::vector<claim>& claims
    );
    [[nodiscard]] boost::asio::awaitable<void> compare_with_table();
    /// Leases acquired before the last failover whose token is not in the table.
    [[nodiscard]] std::vector<lease_ptr> missing_in(const std::map<thread_key, std::uint64_t>& table
    ) const;
    void note_unsure(const std::vector<claim>& claims, std::int64_t gateway);
    [[nodiscard]] std::vector<lease_ptr>
    keep_claims(const std::vector<claim>& claims, std::int64_t gateway);
    void wake_writer() AGUI_REQUIRES(mutex_);
    [[nodiscard]] boost::asio::awaitable<void> delete_released();
    [[nodiscard]] boost::asio::awaitable<void> delete_unsure();

    pg_shared& shared_;
    pg_gateway& gateway_;
    const before_release before_release_;
    mutable mutex mutex_;
    std::map<thread_key, entry> here_ AGUI_GUARDED_BY(mutex_);
    std::set<std::int64_t> runs_here_ AGUI_GUARDED_BY(mutex_); ///< Runs that have begun.
    struct released {
        lease_ptr held;
        std::int64_t run_number;
    };
    /// A lease that may be in the table under a number of this process, and is not held here.
    struct unsure {
        thread_key key;
        std::int64_t gateway;
    };
    std::vector<released> released_ AGUI_GUARDED_BY(mutex_);
    std::vector<unsure> unsure_ AGUI_GUARDED_BY(mutex_);
    bool writer_is_told_ AGUI_GUARDED_BY(mutex_) = false;
    boost::asio::steady_timer writer_timer_;
    /// pg_gateway::fences() at the last look for active runs without a lease; nullopt if one is
    /// due.
    std::optional<std::uint64_t> strays_seen_at_;
    std::int64_t compared_at_ = 0; ///< pg_gateway::timeline() at the last compare_with_table().
    /// The next compare_with_table() for another reason than the timeline.
    std::optional<std::chrono::steady_clock::time_point> compare_from_;
    std::int64_t attempts_ = 0; ///< Calls of acquire_in_table() so far.
    bool is_closed_ = false;
};

} // namespace agui::session
