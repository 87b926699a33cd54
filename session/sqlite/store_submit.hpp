#pragma once

#include "session/sqlite/sqlite_worker.hpp"

#include "session/base/error.hpp"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace agui::session {

// Lets a coroutine submit work to the store's thread and await the result on its own executor.

// The work of one call and the handler that waits for it. `Work` returns result<T> or T; `Settle`
// is called once with the outcome (for an exception, with a failure), before the handler is posted
// to its executor.
template <class T, class Work, class Settle, class Handler>
class job final : public store_job {
public:
    job(Work work, Settle settle, Handler handler)
        : work_(std::move(work)),
          settle_(std::move(settle)),
          handler_(std::move(handler)),
          guard_(boost::asio::make_work_guard(handler_)) {}

    void execute() override {
        error_ = nullptr;
        try {
            outcome_ = work_();
        } catch (const std::logic_error&) {
            // A bug of the caller, to whom it is rethrown.
            error_ = std::current_exception();
        }
    }

    bool succeeded() const noexcept override { return error_ == nullptr && outcome_.has_value(); }

    void fail(failure reason) override {
        error_ = nullptr;
        outcome_ = std::move(reason);
    }

    void complete() noexcept override {
        if (error_) {
            settle_(result<T>(failure{}));
        } else {
            settle_(outcome_);
        }
        const auto executor = guard_.get_executor();
        boost::asio::post(
            executor, [handler = std::move(handler_), error = std::move(error_),
                       outcome = std::move(outcome_)](
                      ) mutable { std::move(handler)(std::move(error), std::move(outcome)); }
        );
        guard_.reset();
    }

private:
    Work work_;
    Settle settle_;
    Handler handler_;
    boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler>> guard_;
    std::exception_ptr error_;
    result<T> outcome_ = failure{};
};

// A long read in slices, between which other jobs run. `Work` returns nullopt for a slice that is
// not the last.
template <class T, class Work, class Handler>
class sliced_read final : public store_job {
public:
    sliced_read(Work work, Handler handler)
        : work_(std::move(work)),
          handler_(std::move(handler)),
          guard_(boost::asio::make_work_guard(handler_)) {}

    void execute() override {
        std::optional<result<T>> outcome = work_();
        is_complete_ = outcome.has_value();
        if (outcome) {
            outcome_ = std::move(*outcome);
        }
    }

    bool succeeded() const noexcept override { return outcome_.has_value(); }
    bool is_complete() const noexcept override { return is_complete_; }

    void fail(failure reason) override {
        is_complete_ = true;
        outcome_ = std::move(reason);
    }

    void complete() noexcept override {
        const auto executor = guard_.get_executor();
        boost::asio::post(
            executor, [handler = std::move(handler_), outcome = std::move(outcome_)](
                      ) mutable { std::move(handler)(std::exception_ptr(), std::move(outcome)); }
        );
        guard_.reset();
    }

private:
    Work work_;
    Handler handler_;
    boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler>> guard_;
    bool is_complete_ = false;
    result<T> outcome_ = failure{};
};

enum class access { read, write };

/// Queues `work`, which returns result<T> or T, and completes with its result. Before that,
/// `settle` is called with the result: on the store's thread or, if the store is closed, on the
/// caller's. A std::logic_error from `work` is rethrown to the caller.
template <class T, class Work, class Settle>
auto submit(sqlite_worker& worker, access how, Work work, Settle settle) {
    return boost::asio::async_initiate<
        const boost::asio::use_awaitable_t<>, void(std::exception_ptr, result<T>)>(
        [&worker, how](auto handler, Work queued, Settle settled) {
            using job_type = job<T, Work, Settle, decltype(handler)>;
            auto next = std::make_unique<job_type>(
                std::move(queued), std::move(settled), std::move(handler)
            );
            if (how == access::read) {
                worker.read(std::move(next));
            } else {
                worker.write(std::move(next));
            }
        },
        boost::asio::use_awaitable, std::move(work), std::move(settle)
    );
}

/// Queues a read, which calls `work` until it returns a result<T>, and completes with that. For a
/// slice that is not the last, `work` returns nullopt.
template <class T, class Work>
auto submit_slices(sqlite_worker& worker, Work work) {
    return boost::asio::async_initiate<
        const boost::asio::use_awaitable_t<>, void(std::exception_ptr, result<T>)>(
        [&worker](auto handler, Work queued) {
            using job_type = sliced_read<T, Work, decltype(handler)>;
            worker.read(std::make_unique<job_type>(std::move(queued), std::move(handler)));
        },
        boost::asio::use_awaitable, std::move(work)
    );
}

} // namespace agui::session
