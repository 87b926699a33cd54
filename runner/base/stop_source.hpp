#pragma once

#include "runner/base/stop_reason.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace agui::runner {

/// Lets others end a run early. A stop takes effect when request() returns: the run checks
/// requested() before each step, and its current wait is cancelled on its executor soon after.
/// After close() the run is over and a stop comes too late.
class stop_source {
public:
    /// `executor` is the run's.
    explicit stop_source(boost::asio::any_io_executor executor);
    /// Called on the executor. Drops a pending cancellation.
    ~stop_source();
    stop_source(const stop_source&) = delete;
    stop_source& operator=(const stop_source&) = delete;

    /// Requests a stop. May be called on any thread, even from code that the run calls. The first
    /// reason wins. Returns false if the run is already closed. Nothing is cancelled during this
    /// call.
    bool request(stop_reason reason) noexcept;

    /// From this call on requested() also asks `is_lost`, which must not throw and may be called on
    /// any thread. Once it returns true, that counts as a request for `reason`. Meant for a
    /// condition that nobody can report in time, such as a lost lease. Call it once, before the run
    /// starts.
    void stop_if(std::function<bool()> is_lost, stop_reason reason);

    /// From this call on a stop of `other` is a stop of this one as well, for the same reason. The
    /// current wait is cancelled only by request(). Call it once, before the run starts.
    void follow(const stop_source& other) noexcept;

    /// May be called on any thread.
    [[nodiscard]] bool requested() const noexcept;
    /// The reason of the first request; `cancelled` if there was none. May be called on any thread.
    [[nodiscard]] stop_reason reason() const noexcept;

    /// Refuses all later requests. The run may call it any number of times. Returns the reason of
    /// an earlier request, if there was one.
    [[nodiscard]] std::optional<stop_reason> close() noexcept;

    /// The slot for the run's current wait. Used by the run on its executor. A commit must not be
    /// bound to it.
    [[nodiscard]] boost::asio::cancellation_slot slot() noexcept;

    /// Awaits `what`, which a stop cancels (terminal). Used by the run on its executor. Neither the
    /// caller nor its next await is cancelled. Returns nullopt if a stop came before `what` began,
    /// which is then not started, or while it ran, whose result is then dropped. Exceptions of
    /// `what` are passed on. Nothing else may be bound to slot() at the same time.
    template <class T>
    [[nodiscard]] boost::asio::awaitable<std::optional<T>> run(boost::asio::awaitable<T> what);

private:
    struct shared;
    std::shared_ptr<shared> shared_;
};

template <class T>
boost::asio::awaitable<std::optional<T>> stop_source::run(boost::asio::awaitable<T> what) {
    if (requested()) {
        co_return std::nullopt;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    T value = co_await boost::asio::co_spawn(
        executor, std::move(what),
        boost::asio::bind_cancellation_slot(slot(), boost::asio::use_awaitable)
    );
    if (requested()) {
        co_return std::nullopt;
    }
    co_return std::optional<T>(std::move(value));
}

} // namespace agui::runner
