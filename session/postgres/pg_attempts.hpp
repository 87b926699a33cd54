#pragma once

#include "session/postgres/pg_shared.hpp"

#include "session/base/mutex.hpp"
#include "session/conversation/failed_attempt.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <list>
#include <string_view>
#include <vector>

namespace agui::session {

/// Writes failed attempts in the background: no call waits, and an attempt that cannot be written
/// is lost with a warning. Everything but keep() belongs to the store's thread.
class pg_attempts {
public:
    explicit pg_attempts(pg_shared& shared);

    /// Like store::keep_attempt(). Safe to call from any thread.
    void keep(failed_attempt attempt);
    /// Waits until the attempts kept before are written or lost.
    [[nodiscard]] boost::asio::awaitable<void> flush();
    /// Writes until finish(), and then the attempts that are left. Call it once.
    [[nodiscard]] boost::asio::awaitable<void> write();
    void finish();

private:
    boost::asio::awaitable<void> write_batch(std::vector<failed_attempt> batch);
    void warn(std::string_view reason);

    pg_shared& shared_;
    mutex mutex_;
    std::vector<failed_attempt> waiting_ AGUI_GUARDED_BY(mutex_);
    std::size_t waiting_bytes_ AGUI_GUARDED_BY(mutex_) = 0;
    std::uint64_t kept_ AGUI_GUARDED_BY(mutex_) = 0;
    bool is_finished_ AGUI_GUARDED_BY(mutex_) = false;
    std::uint64_t settled_ = 0; ///< This and the rest belong to the store's thread.
    boost::asio::steady_timer timer_;
    std::list<boost::asio::steady_timer*> waiters_; ///< Calls of flush().
};

} // namespace agui::session
