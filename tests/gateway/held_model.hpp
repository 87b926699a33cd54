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

/// What the test lets a model answer.
struct held_answer {
    std::string text = {};
    std::string call_id = {}; ///< Not empty: a call of the tool `paint` with this id.
    bool fails = false;       ///< The server refuses the request.
};

/// Models whose answers wait for the test: in the order in which they were asked, each call gets
/// the next answer. Any thread. Must outlive its providers.
class held_model {
public:
    /// A provider for server_options::provider_of.
    [[nodiscard]] std::unique_ptr<runner::model_provider> make_provider();

    /// Lets one call be answered: the oldest that waits, or the next one.
    void answer(held_answer value);
    /// Those that no call has had yet.
    void forget_answers();
    /// Waits until the model has been asked that often; false: not within ten seconds.
    bool wait_for_calls(std::size_t count);
    [[nodiscard]] std::size_t calls() const;
    /// What the call (from 0) was asked: `role: text` of each message.
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
