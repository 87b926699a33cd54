#include "runner/tools/blocking_tool.hpp"

#include "session/base/as_result.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

using blocking_function = std::function<tool_outcome(const tool_invocation&)>;

// One call, shared by the waiting coroutine and the working thread. Either may end first: the
// coroutine ends with its run or with the server.
class blocking_call {
public:
    blocking_call(std::shared_ptr<const blocking_function> function, tool_invocation call)
        : function_(std::move(function)), call_(std::move(call)) {}

    // Runs on the pool.
    static void work(const std::shared_ptr<blocking_call>& self) {
        {
            const std::lock_guard lock(self->mutex_);
            if (self->waiting_ == nullptr) {
                return;
            }
        }
        std::optional<tool_outcome> outcome;
        std::exception_ptr thrown;
        try {
            outcome = (*self->function_)(self->call_);
        } catch (...) { // Rethrown to the waiting coroutine.
            thrown = std::current_exception();
        }
        const std::lock_guard lock(self->mutex_);
        self->outcome_ = std::move(outcome);
        self->thrown_ = thrown;
        // Posted under the lock, so that the executor still exists: see forget().
        if (self->waiting_ != nullptr) {
            asio::post(self->waiting_->get_executor(), [self] { self->wake(); });
        }
    }

    // This and the following functions run on the run's executor.
    void wait_with(asio::steady_timer& timer) {
        const std::lock_guard lock(mutex_);
        waiting_ = &timer;
    }

    void forget() noexcept {
        const std::lock_guard lock(mutex_);
        waiting_ = nullptr;
    }

    tool_outcome take() {
        const std::lock_guard lock(mutex_);
        if (thrown_) {
            std::rethrow_exception(thrown_);
        }
        if (!outcome_) {
            return {tool_outcome::kind::error, "The call was cancelled.", "cancelled"};
        }
        return *std::move(outcome_);
    }

private:
    void wake() {
        const std::lock_guard lock(mutex_);
        if (waiting_ != nullptr) {
            waiting_->cancel();
        }
    }

    std::shared_ptr<const blocking_function> function_;
    tool_invocation call_;
    mutex mutex_;
    asio::steady_timer* waiting_ AGUI_GUARDED_BY(mutex_) = nullptr; ///< Null if no coroutine waits.
    std::optional<tool_outcome> outcome_ AGUI_GUARDED_BY(mutex_);
    std::exception_ptr thrown_ AGUI_GUARDED_BY(mutex_);
};

// Marks the end of the coroutine, even if it is destroyed while it waits.
class waiting_end {
public:
    explicit waiting_end(blocking_call& call) noexcept : call_(call) {}
    ~waiting_end() { call_.forget(); }
    waiting_end(const waiting_end&) = delete;
    waiting_end& operator=(const waiting_end&) = delete;

private:
    blocking_call& call_;
};

asio::awaitable<tool_outcome> execute(
    std::shared_ptr<const blocking_function> function, tool_invocation call,
    asio::thread_pool::executor_type pool
) {
    asio::steady_timer done(
        co_await asio::this_coro::executor, asio::steady_timer::time_point::max()
    );
    const auto shared = std::make_shared<blocking_call>(std::move(function), std::move(call));
    shared->wait_with(done);
    const waiting_end end(*shared);
    asio::post(pool, [shared] { blocking_call::work(shared); });
    // wake() is posted to this executor, so it never comes before the wait has begun.
    co_await done.async_wait(as_result);
    co_return shared->take();
}

} // namespace

tool_function blocking_tool(blocking_function function, asio::thread_pool& pool) {
    return [function = std::make_shared<const blocking_function>(std::move(function)),
            pool = pool.get_executor()](tool_invocation call) {
        return execute(function, std::move(call), pool);
    };
}

} // namespace agui::runner
