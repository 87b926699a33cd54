#pragma once

#include "session/postgres/pg_shared.hpp"
#include "session/store/lease.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// Whether the thread of a row of `leases l` has an active run. A lease that is released during
/// such a run stays, without a holder (gateway 0). Like the leases of fenced gateways, it marks a
/// lost run. Ask in a statement after the one that locks the row: a transaction in which the run
/// begins may still be under way.
#define AGUI_PG_LEASE_HAS_RUN                                                                      \
    "EXISTS (SELECT FROM agui.threads t JOIN agui.runs r ON r.thread = t.id "                      \
    "AND r.status = 'active' WHERE t.principal = l.principal AND t.thread_id = l.thread_id)"

/// This process's row in agui.gateways, which it renews. Other gateways fence one that has not
/// renewed in time: it can no longer write, and gets a new number. Belongs to the store's thread.
class pg_gateway {
public:
    class listener {
    public:
        virtual ~listener() = default;
        /// All leases under its former number are invalid.
        virtual void on_lost() = 0;
        virtual void on_registered(std::int64_t id) = 0;
        virtual void on_renewed() = 0;
        /// `reason` is for the log.
        virtual void on_not_renewed(const std::string& reason) = 0;
    };

    /// The arguments must outlive this. Others wait `lease` for a renewal.
    pg_gateway(pg_shared& shared, std::chrono::milliseconds lease, listener& told);

    /// 0 if it has none at the moment.
    [[nodiscard]] std::int64_t id() const noexcept { return id_; }
    /// Term of the leases that are given out under id().
    [[nodiscard]] const std::shared_ptr<lease_term>& term() const noexcept { return term_; }

    /// Like store::announce(), find_gateway() and other_gateways().
    [[nodiscard]] boost::asio::awaitable<void> announce(std::string url, std::string secret);
    [[nodiscard]] boost::asio::awaitable<std::optional<peer_address>> find(std::int64_t number);
    [[nodiscard]] boost::asio::awaitable<std::vector<peer_address>> others();

    /// Gets a number. Throws pg_error or pg_unavailable.
    [[nodiscard]] boost::asio::awaitable<void> enroll();
    /// Renews the number, and gets a new one when it was lost, until close(). Call it once.
    [[nodiscard]] boost::asio::awaitable<void> renew();
    /// Notices when the term is over, until close(). Call it once.
    [[nodiscard]] boost::asio::awaitable<void> watch_term();

    /// A write was refused: others have fenced it. `id` is the number that was used.
    void lose(std::int64_t id);

    /// Fences the gateway of that number if it has not renewed in time. Returns true if it is now
    /// fenced.
    [[nodiscard]] boost::asio::awaitable<bool> fence(std::int64_t id);
    /// Fences all gateways that have not renewed in time, and removes the rows that fenced ones
    /// left, except for leases. Returns the numbers that such leases may have. Costs one statement
    /// on the table of gateways if there are none.
    [[nodiscard]] boost::asio::awaitable<std::vector<std::int64_t>> fence_expired();
    /// Number of gateways that this process has fenced.
    [[nodiscard]] std::uint64_t fences() const noexcept { return fences_; }
    /// The server's timeline at the last renewal. It changes when a standby takes the server's
    /// place.
    [[nodiscard]] std::int64_t timeline() const noexcept { return timeline_; }

    void close() noexcept;
    /// Gives up the number and all leases, so that others need not wait until they expire.
    [[nodiscard]] boost::asio::awaitable<void> leave();

private:
    [[nodiscard]] boost::asio::awaitable<bool> renew_once();
    void set_term(std::chrono::nanoseconds sent);

    pg_shared& shared_;
    const std::chrono::milliseconds lease_;
    listener& told_;
    std::int64_t id_ = 0;
    std::uint64_t fences_ = 0;
    std::int64_t timeline_ = 0;
    /// Address at which others can ask this process; empty if it was not announced.
    std::string url_;
    std::string secret_;
    std::shared_ptr<lease_term> term_;
    std::chrono::nanoseconds term_end_{0};
    std::vector<std::int64_t> former_; ///< Lost numbers that it has not yet fenced itself.
    boost::asio::steady_timer renewal_timer_;
    boost::asio::steady_timer term_timer_;
    bool is_closed_ = false;
};

} // namespace agui::session
