#include "runner/hooks/hook_group.hpp"

#include "session/base/as_result.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include <utility>

namespace agui::runner {

hook_group::hook_group(boost::asio::any_io_executor executor)
    : executor_(std::move(executor)), signal_(executor_, time_point::max()) {}

void hook_group::start(boost::asio::awaitable<void> hook) {
    ++running_;
    boost::asio::co_spawn(
        executor_, std::move(hook),
        boost::asio::bind_cancellation_slot(
            cancellations_.emplace_back().slot(),
            [self = shared_from_this()](const std::exception_ptr& thrown) { self->on_end(thrown); }
        )
    );
}

void hook_group::on_end(const std::exception_ptr& thrown) noexcept {
    --running_;
    if (!error_) {
        error_ = thrown;
    }
    if (running_ == 0 || error_) {
        wake();
    }
}

boost::asio::awaitable<void> hook_group::wait(stop_source* stop, time_point until) {
    const auto self = shared_from_this();
    if (stop != nullptr) {
        stop->slot().assign([self](boost::asio::cancellation_type) { self->wake(); });
    }
    const bool stopped = stop != nullptr && stop->requested();
    if (!done() && !error_ && !woken_ && !stopped) {
        signal_.expires_at(until);
        co_await signal_.async_wait(as_result);
    }
    woken_ = false;
    if (stop != nullptr) {
        stop->slot().clear();
    }
}

void hook_group::wake() noexcept {
    woken_ = true;
    signal_.cancel();
}

void hook_group::cancel() noexcept {
    for (boost::asio::cancellation_signal& each : cancellations_) {
        try {
            each.emit(boost::asio::cancellation_type::terminal);
        } catch (const std::exception&) {
            // A hook that throws when cancelled must not keep the others running.
        }
    }
}

} // namespace agui::runner
