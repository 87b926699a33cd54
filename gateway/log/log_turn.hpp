#pragma once

#include "session/store/store.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <span>
#include <vector>

namespace agui::gateway {

class event_log;

/// The logs of one I/O thread whose events are published together, after the handlers that are
/// ready: once all tokens that have arrived are read, the store gets the entries of many runs with
/// one call, and then their readers are written to, one right after the other.
///
/// While it exists, the logs whose writers run on its thread use it (of_this_thread()); without
/// one, each log publishes alone. A batch that finds the thread idle is published at its end, so
/// that a stream alone costs no further handler. Used on its thread only.
class log_turn {
public:
    using clock = std::chrono::steady_clock;

    /// `executor` runs its handlers on this thread only; they must not run after the destructor.
    explicit log_turn(
        boost::asio::any_io_executor executor, clock::time_point (*now)() = &clock::now
    );
    ~log_turn();
    log_turn(const log_turn&) = delete;
    log_turn& operator=(const log_turn&) = delete;

    /// Returns null if this thread has none.
    [[nodiscard]] static log_turn* of_this_thread() noexcept;

    void begin_batch();
    void end_batch();
    /// Returns true if the current batch began right after the one before it, so that more may be
    /// waiting to be read.
    [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }

    /// Publishes the log's new events after the handlers that are ready.
    void add(std::shared_ptr<event_log> log);
    /// Publishes the new events of these logs, each of which is listed once. If the store cannot
    /// take the entries of a log, calls the log's on_failed().
    static void publish(std::span<const std::shared_ptr<event_log>> logs);

private:
    void publish_waiting();

    const boost::asio::any_io_executor executor_;
    clock::time_point (*const now_)();
    log_turn* const outer_; ///< The one that this thread had before.
    std::vector<std::shared_ptr<event_log>> waiting_;
    clock::time_point last_end_; ///< When the last batch or publication ended.
    bool is_busy_ = false;
};

} // namespace agui::gateway
