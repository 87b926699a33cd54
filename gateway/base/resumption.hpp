#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <exception>
#include <utility>

namespace agui::gateway {

class resumption;

/// What a waiting coroutine does each time that it is woken, while it stays suspended: for waits
/// that end as often as tokens come.
class woken_step {
public:
    /// Called where the coroutine would continue. It waits again if `here` is moved from, otherwise
    /// it continues.
    virtual void run(resumption& here) noexcept = 0;

protected:
    ~woken_step() = default;
};

/// A waiting coroutine and the executor on which it continues. Move-only. Handlers are exchanged,
/// never assigned: the move assignment of Boost 1.81's any_completion_handler wraps the handler in
/// itself, in an endless recursion (fixed in Boost 1.82).
class resumption {
public:
    resumption() = default;
    /// `step` may be null. Otherwise the coroutine owns it.
    resumption(
        boost::asio::any_io_executor executor,
        boost::asio::any_completion_handler<void()>&& handler, woken_step* step = nullptr
    )
        : executor_(std::move(executor)), handler_(std::move(handler)), step_(step) {}
    resumption(resumption&&) noexcept = default;
    resumption& operator=(resumption&& other) noexcept {
        executor_ = std::move(other.executor_);
        handler_.swap(other.handler_);
        step_ = other.step_;
        return *this;
    }
    resumption(const resumption&) = delete;
    resumption& operator=(const resumption&) = delete;
    ~resumption() = default;

    /// Continues the coroutine later, on its executor.
    void post() && {
        const boost::asio::any_io_executor executor = executor_;
        boost::asio::post(executor, [here = std::move(*this)]() mutable { here.wake(); });
    }

    /// Continues the coroutine at once if this thread is running its executor, otherwise later.
    void dispatch() && {
        // Like asio::dispatch(), but without its allocation and indirect calls, for every token.
        const auto* context = executor_.target<boost::asio::io_context::executor_type>();
        if (context == nullptr || !context->running_in_this_thread()) {
            std::move(*this).post();
            return;
        }
        try {
            wake();
        } catch (...) {
            // As with asio::dispatch(), the loop of the executor throws it, not the caller.
            boost::asio::post(executor_, [thrown = std::current_exception()] {
                std::rethrow_exception(thrown);
            });
        }
    }

private:
    void wake() {
        if (step_ != nullptr) {
            step_->run(*this);
        }
        if (handler_) {
            std::move(handler_)();
        }
    }

    boost::asio::any_io_executor executor_;
    boost::asio::any_completion_handler<void()> handler_;
    woken_step* step_ = nullptr;
};

} // namespace agui::gateway
