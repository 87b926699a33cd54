#pragma once

#include "session/base/mutex.hpp"
#include "session/postgres/pg_gateway.hpp"
#include "session/postgres/pg_shared.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <set>

namespace agui::session {

/// Requests to processes that cannot be asked directly: to stop a run, or to note that a run is
/// being read. They are rows of agui.stops, which each process reads every 500 ms. Everything but
/// set_handler() belongs to the store's thread.
class pg_stops {
public:
    /// The arguments must outlive this.
    pg_stops(pg_shared& shared, const pg_gateway& gateway);

    /// Like store::set_peer_handler(). Safe to call from any thread.
    void set_handler(peer_handler* handler) {
        const std::lock_guard lock(handler_mutex_);
        handler_ = handler;
    }
    enum class kind { stop, reading };
    /// Does store::request_stop(), or store::note_reader() for that run. Throws pg_error or
    /// pg_unavailable.
    [[nodiscard]] boost::asio::awaitable<void> request(stop_request request, kind of);

    /// Reads the rows of other processes until close(). Call it once.
    [[nodiscard]] boost::asio::awaitable<void> work();
    void close() noexcept;

private:
    boost::asio::awaitable<void> read();
    void tell(const stop_request& request, kind of);

    pg_shared& shared_;
    const pg_gateway& gateway_;
    mutex handler_mutex_; ///< Also held during its calls.
    peer_handler* handler_ AGUI_GUARDED_BY(handler_mutex_) = nullptr;
    std::set<std::int64_t> known_; ///< The rows that existed at the last look.
    boost::asio::steady_timer timer_;
    bool is_closed_ = false;
};

} // namespace agui::session
