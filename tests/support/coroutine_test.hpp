#pragma once

#include "tests/support/patience.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace agui::test {

/// Runs coroutines to their end on its own io_context with one thread. A coroutine that does not
/// end within the limit, or throws, fails the test.
class coroutine_test : public ::testing::Test {
protected:
    [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }

    /// The value that `task` returns.
    template <class T>
    T run(boost::asio::awaitable<T> task, std::chrono::seconds limit = patience) {
        std::optional<T> value;
        std::exception_ptr error;
        bool ended = false;
        boost::asio::co_spawn(context_, std::move(task), [&](std::exception_ptr thrown, T result) {
            error = thrown;
            ended = true;
            if (!thrown) {
                value.emplace(std::move(result));
            }
        });
        run_until(ended, limit);
        if (error) {
            std::rethrow_exception(error);
        }
        return std::move(value).value();
    }

    void run(boost::asio::awaitable<void> task, std::chrono::seconds limit = patience);

private:
    void run_until(const bool& ended, std::chrono::seconds limit);

    boost::asio::io_context context_{1};
};

} // namespace agui::test
