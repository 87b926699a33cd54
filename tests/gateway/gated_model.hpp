#pragma once

#include "tests/runner/http/http_test_server.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

namespace agui::test {

/// A model server, on its own thread, that counts its requests. Its first answer to a conversation
/// is reasoning, text and two calls of the tool `count`; its second answer, to their results, is
/// text. Each piece waits until the run's events from the piece before it have been let through.
/// Once held, nothing more is sent, and such an answer ends only when its connection is closed. A
/// conversation that ends in "go on" is answered at once.
class gated_model {
public:
    gated_model();
    ~gated_model();
    gated_model(const gated_model&) = delete;
    gated_model& operator=(const gated_model&) = delete;

    [[nodiscard]] std::string url() const { return url_; }

    /// Prepares for the next conversation, of which nothing has been let through.
    void start_over();
    /// Counts one more event of the run. May be called on any thread.
    void let_through();
    /// Holds all pieces that were not let through yet. May be called on any thread.
    void hold();

    /// The number of answers that have begun and are neither complete nor cut off by their reader.
    [[nodiscard]] int open() const noexcept { return open_; }
    [[nodiscard]] int cut_off() const noexcept { return cut_off_; }

private:
    struct gate {
        explicit gate(boost::asio::io_context& context)
            : moved(context, boost::asio::steady_timer::time_point::max()) {}
        boost::asio::steady_timer moved;
        int passed = 0;
        bool held = false;
    };

    [[nodiscard]] boost::asio::awaitable<void> serve(server_connection& peer);
    [[nodiscard]] boost::asio::awaitable<bool> play(server_connection& peer, std::string request);
    [[nodiscard]] boost::asio::awaitable<bool>
    pass(server_connection& peer, std::shared_ptr<gate> at, int events);

    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
        context_.get_executor()
    };
    std::shared_ptr<gate> gate_{std::make_shared<gate>(context_)};
    std::atomic<int> open_{0};
    std::atomic<int> cut_off_{0};
    http_test_server server_;
    std::string url_;
    std::thread thread_; ///< Declared last, because it uses the other members.
};

} // namespace agui::test
