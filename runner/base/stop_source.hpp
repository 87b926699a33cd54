#pragma once

#include "runner/base/stop_reason.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <optional>

namespace agui::runner {

/// Lets others end a run early. A stop counts from the moment request() returns, whatever the run
/// is at: it looks at requested() before each thing that it starts, and what it waits for is
/// cancelled, on its executor, soon after. From close() on the run is over and a stop comes too
/// late.
class stop_source {
public:
    /// `executor`: the run's.
    explicit stop_source(boost::asio::any_io_executor executor);
    /// On the executor. What was asked for and not carried out yet never is.
    ~stop_source();
    stop_source(const stop_source&) = delete;
    stop_source& operator=(const stop_source&) = delete;

    /// Any thread, also from inside of what the run calls. The first reason counts. False: too
    /// late. Runs no code of others, so nothing can be thrown through it.
    bool request(stop_reason reason) noexcept;

    /// Any thread.
    [[nodiscard]] bool requested() const noexcept;
    /// Of the first request; `cancelled` if there was none. Any thread.
    [[nodiscard]] stop_reason reason() const noexcept;

    /// For the run, any number of times: refuses requests from here on. What was asked for before,
    /// if anything was.
    [[nodiscard]] std::optional<stop_reason> close() noexcept;

    /// For the run, on its executor: what it waits for at the moment. Commits are never bound to
    /// it.
    [[nodiscard]] boost::asio::cancellation_slot slot() noexcept;

private:
    struct shared;
    std::shared_ptr<shared> shared_;
};

} // namespace agui::runner
