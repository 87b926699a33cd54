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

/// What one process asks of others that cannot be asked themselves, as rows of agui.stops, which
/// each reads every 500 ms: stops, and that runs are being read. Belongs to the store's thread, but
/// for set_handler().
class pg_stops {
public:
    /// The arguments must outlive this.
    pg_stops(pg_shared& shared, const pg_gateway& gateway);

    /// As store::set_peer_handler(). Any thread.
    void set_handler(peer_handler* handler) {
        const std::lock_guard lock(handler_mutex_);
        handler_ = handler;
    }
    enum class kind { stop, reading };
    /// As store::request_stop(), or store::note_reader() of that run. Throws pg_error or
    /// pg_unavailable.
    [[nodiscard]] boost::asio::awaitable<void> request(stop_request request, kind of);

    /// Reads the rows of others until close(). To be called once.
    [[nodiscard]] boost::asio::awaitable<void> work();
    void close() noexcept;

private:
    boost::asio::awaitable<void> read();
    void tell(const stop_request& request, kind of);

    pg_shared& shared_;
    const pg_gateway& gateway_;
    mutex handler_mutex_; ///< Also held during its calls.
    peer_handler* handler_ AGUI_GUARDED_BY(handler_mutex_) = nullptr;
    std::set<std::int64_t> known_; ///< The rows that there were at the last look.
    boost::asio::steady_timer timer_;
    bool is_closed_ = false;
};

} // namespace agui::session
