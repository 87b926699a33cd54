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

/// Whether the thread of a row of `leases l` has an active run. A lease that is released while it
/// has one stays, without a holder (gateway 0): like the leases of fenced gateways, it marks a lost
/// run. Ask in a statement after the one that locks the row: a transaction in which the run begins
/// may still be under way.
#define AGUI_PG_LEASE_HAS_RUN                                                                      \
    "EXISTS (SELECT FROM agui.threads t JOIN agui.runs r ON r.thread = t.id "                      \
    "AND r.status = 'active' WHERE t.principal = l.principal AND t.thread_id = l.thread_id)"

/// This process among those that use the database: a row of agui.gateways, which it renews. One
/// that has not done so in time is fenced by others: it can write nothing any more, and gets a new
/// number. Belongs to the store's thread.
class pg_gateway {
public:
    class listener {
    public:
        virtual ~listener() = default;
        /// All leases of the number that it had are worth nothing.
        virtual void on_lost() = 0;
        virtual void on_registered(std::int64_t id) = 0;
        virtual void on_renewed() = 0;
        /// `reason` is for the log.
        virtual void on_not_renewed(const std::string& reason) = 0;
    };

    /// The arguments must outlive this. `lease` is how long others wait for a renewal.
    pg_gateway(pg_shared& shared, std::chrono::milliseconds lease, listener& told);

    /// 0: it has none at the moment.
    [[nodiscard]] std::int64_t id() const noexcept { return id_; }
    /// Of leases that are given out under id().
    [[nodiscard]] const std::shared_ptr<lease_term>& term() const noexcept { return term_; }

    /// As store::announce(), find_gateway() and other_gateways().
    [[nodiscard]] boost::asio::awaitable<void> announce(std::string url, std::string secret);
    [[nodiscard]] boost::asio::awaitable<std::optional<peer_address>> find(std::int64_t number);
    [[nodiscard]] boost::asio::awaitable<std::vector<peer_address>> others();

    /// Gets a number. Throws pg_error or pg_unavailable.
    [[nodiscard]] boost::asio::awaitable<void> enroll();
    /// Renews it, and gets a new one when it was lost, until close(). To be called once.
    [[nodiscard]] boost::asio::awaitable<void> renew();
    /// Notices when the term is over, until close(). To be called once.
    [[nodiscard]] boost::asio::awaitable<void> watch_term();

    /// A write was refused: others have fenced it. `id` is the number that was used.
    void lose(std::int64_t id);

    /// True: the gateway of that number had not renewed in time, and is fenced from now on.
    [[nodiscard]] boost::asio::awaitable<bool> fence(std::int64_t id);
    /// Fences all that have not renewed in time, and removes what fenced ones have left, but for
    /// leases. Returns the numbers that such leases may have. Costs one statement on the table of
    /// gateways if there are none.
    [[nodiscard]] boost::asio::awaitable<std::vector<std::int64_t>> fence_expired();
    /// How many gateways this process has fenced.
    [[nodiscard]] std::uint64_t fences() const noexcept { return fences_; }
    /// The server's at the last renewal: another one says that a standby has taken its place.
    [[nodiscard]] std::int64_t timeline() const noexcept { return timeline_; }

    void close() noexcept;
    /// Gives the number back, and all leases up: others need not wait for its end.
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
    std::string url_; ///< Where others can ask this process; empty: it was not announced.
    std::string secret_;
    std::shared_ptr<lease_term> term_;
    std::chrono::nanoseconds term_end_{0};
    std::vector<std::int64_t> former_; ///< Numbers that it has lost, and not yet fenced itself.
    boost::asio::steady_timer renewal_timer_;
    boost::asio::steady_timer term_timer_;
    bool is_closed_ = false;
};

} // namespace agui::session
