#pragma once

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <exception>
#include <utility>

namespace agui::gateway {

/// A waiting coroutine and the executor on which it continues. Move-only. Handlers are exchanged,
/// never assigned: the move assignment of Boost 1.81's any_completion_handler wraps the handler in
/// itself, in an endless recursion (fixed in Boost 1.82).
class resumption {
public:
    resumption() = default;
    resumption(
        boost::asio::any_io_executor executor, boost::asio::any_completion_handler<void()>&& handler
    )
        : executor_(std::move(executor)), handler_(std::move(handler)) {}
    resumption(resumption&&) noexcept = default;
    resumption& operator=(resumption&& other) noexcept {
        executor_ = std::move(other.executor_);
        handler_.swap(other.handler_);
        return *this;
    }
    resumption(const resumption&) = delete;
    resumption& operator=(const resumption&) = delete;
    ~resumption() = default;

    /// Continues the coroutine later, on its executor.
    void post() && {
        const boost::asio::any_io_executor executor = executor_;
        boost::asio::post(executor, call{std::move(handler_)});
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
            std::move(handler_)();
        } catch (...) {
            // As with asio::dispatch(), the loop of the executor throws it, not the caller.
            boost::asio::post(executor_, [thrown = std::current_exception()] {
                std::rethrow_exception(thrown);
            });
        }
    }

private:
    struct call {
        explicit call(boost::asio::any_completion_handler<void()>&& given)
            : handler(std::move(given)) {}
        call(call&& other) noexcept : handler(std::move(other.handler)) {}
        call(const call&) = delete;
        call& operator=(const call&) = delete;
        call& operator=(call&&) = delete;
        ~call() = default;
        void operator()() { std::move(handler)(); }

        boost::asio::any_completion_handler<void()> handler;
    };

    boost::asio::any_io_executor executor_;
    boost::asio::any_completion_handler<void()> handler_;
};

} // namespace agui::gateway
