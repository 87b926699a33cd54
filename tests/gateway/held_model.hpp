#pragma once

#include "runner/base/model_provider.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace agui::test {

/// One answer that the test gives to a model's call.
struct held_answer {
    std::string text = {};
    std::string call_id = {}; ///< If set, the answer is a call of `paint` with this id.
    bool fails = false;       ///< If true, the server refuses the request.
};

/// Models whose answers the test gives. The calls get them in the order in which they were made.
/// Safe to use from any thread. Must outlive its providers.
class held_model {
public:
    /// A provider for server_options::provider_of.
    [[nodiscard]] std::unique_ptr<runner::model_provider> make_provider();

    /// Answers the oldest waiting call, or the next one if none waits.
    void answer(held_answer value);
    /// Drops the answers that no call has taken.
    void forget_answers();
    /// Waits until there were that many calls. Returns false after ten seconds.
    bool wait_for_calls(std::size_t count);
    [[nodiscard]] std::size_t calls() const;
    /// The messages of a call, counted from 0, as `role: text`.
    [[nodiscard]] std::vector<std::string> request(std::size_t call) const;

private:
    class provider;
    struct waiting {
        std::shared_ptr<boost::asio::steady_timer> timer;
        std::shared_ptr<held_answer> answer;
        std::shared_ptr<bool> answered;
    };

    mutable std::mutex mutex_;
    std::condition_variable asked_;
    std::vector<std::vector<std::string>> requests_;
    std::deque<held_answer> answers_;
    std::deque<waiting> waiting_;
};

} // namespace agui::test
