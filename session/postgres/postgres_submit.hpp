#pragma once

#include "session/postgres/pg_error.hpp"
#include "session/postgres/postgres_store.hpp"
#include "session/store/store_failures.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

namespace agui::session {

// The way of a call to the store's thread and back, for the files that implement postgres_store.

[[nodiscard]] inline failure store_cannot_be_used() {
    return {errc::store_unavailable, "the store is unavailable: try again later"};
}

template <class T>
boost::asio::awaitable<result<T>>
postgres_store::guarded(std::function<boost::asio::awaitable<result<T>>()> job) {
    const std::int64_t gateway = gateway_.id();
    std::string reason;
    try {
        result<T> outcome = co_await job();
        note_success();
        co_return outcome;
    } catch (const std::logic_error&) {
        throw; // A bug of the caller, to whom it is rethrown.
    } catch (const pg_error& error) {
        if (error.is_misfit()) {
            throw std::logic_error(error.what());
        }
        if (error.is_fenced()) {
            gateway_.lose(gateway);
            co_return lease_is_lost();
        }
        reason = error.what();
    } catch (const std::exception& error) {
        reason = error.what();
    }
    note_failure(reason);
    co_return store_cannot_be_used();
}

// Completes on the executor of the caller, whose cancellation ends nothing.
template <class T>
boost::asio::awaitable<result<T>>
postgres_store::on_store(std::function<boost::asio::awaitable<result<T>>()> job) {
    ++calls_;
    if (is_closing_) {
        boost::asio::post(context_, [this] {
            --calls_;
            progress_.cancel();
        });
        co_return failure{errc::store_unavailable, "the store is closed"};
    }
    co_return co_await boost::asio::async_initiate<
        const boost::asio::use_awaitable_t<>, void(std::exception_ptr, result<T>)>(
        [this](auto handler, std::function<boost::asio::awaitable<result<T>>()> work) {
            auto guard = boost::asio::make_work_guard(handler);
            boost::asio::co_spawn(
                context_, guarded<T>(std::move(work)),
                [this, handler = std::move(handler),
                 guard = std::move(guard)](std::exception_ptr error, result<T> outcome) mutable {
                    --calls_;
                    progress_.cancel();
                    const auto executor = guard.get_executor();
                    boost::asio::post(
                        executor,
                        [handler = std::move(handler), error = std::move(error),
                         outcome = std::move(outcome)]() mutable {
                            std::move(handler)(std::move(error), std::move(outcome));
                        }
                    );
                }
            );
        },
        boost::asio::use_awaitable, std::move(job)
    );
}

} // namespace agui::session
