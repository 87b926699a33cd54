#include "tests/support/coroutine_test.hpp"

#include <stdexcept>

namespace agui::test {

void coroutine_test::run(boost::asio::awaitable<void> task, std::chrono::seconds limit) {
    std::exception_ptr error;
    bool ended = false;
    boost::asio::co_spawn(context_, std::move(task), [&](std::exception_ptr thrown) {
        error = thrown;
        ended = true;
    });
    run_until(ended, limit);
    if (error) {
        std::rethrow_exception(error);
    }
}

void coroutine_test::run_until(const bool& ended, std::chrono::seconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    context_.restart();
    while (!ended && std::chrono::steady_clock::now() < deadline) {
        // Returns 0 if there is no handler, because the coroutine waits on another thread.
        if (context_.run_one_for(std::chrono::milliseconds(50)) == 0) {
            context_.restart();
        }
    }
    if (!ended) {
        throw std::runtime_error("the coroutine did not end");
    }
}

} // namespace agui::test
