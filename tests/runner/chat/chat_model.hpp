#pragma once

#include "runner/base/owned_model.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {

/// A model's answer to one call, in this order.
struct chat_answer {
    std::vector<std::string> thoughts = {};
    std::vector<std::string> text = {};
    struct call {
        std::string id;
        std::string name;
        std::string arguments = "{}";
    };
    std::vector<call> calls = {};
    runner::finish_reason reason = runner::finish_reason::stop;
    /// If true, the model says the text and then waits.
    bool stalls = false;
    /// The count of input tokens, and of output tokens.
    int tokens = 0;
    std::optional<runner::model_failure> failure = {}; ///< Ends the answer in place of success.
};

/// A model that plays answers and records its requests.
class chat_model final : public runner::model_provider {
public:
    std::string given_name; ///< Empty if it has none.
    std::deque<chat_answer> answers;
    std::vector<std::vector<session::message>> asked;
    std::vector<std::vector<std::string>> offered;

    [[nodiscard]] std::string_view name() const noexcept override { return given_name; }

    boost::asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override {
        asked.push_back(*request.messages);
        offered.emplace_back();
        for (const runner::tool_definition& tool : *request.tools) {
            offered.back().push_back(tool.name);
        }
        if (answers.empty()) {
            co_return runner::model_failure{runner::model_failure::kind::rejected, 400, "no more"};
        }
        const chat_answer answer = std::move(answers.front());
        answers.pop_front();
        for (const std::string& thought : answer.thoughts) {
            sink.on_reasoning(thought);
        }
        for (const std::string& text : answer.text) {
            if (!sink.has_room()) {
                co_await sink.room();
            }
            sink.on_text(text);
        }
        if (answer.failure) {
            co_return *answer.failure;
        }
        if (answer.stalls) {
            boost::asio::steady_timer never(
                co_await boost::asio::this_coro::executor,
                boost::asio::steady_timer::time_point::max()
            );
            co_await never.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            co_return runner::model_failure{runner::model_failure::kind::cancelled, 0, {}};
        }
        for (std::size_t i = 0; i < answer.calls.size(); ++i) {
            sink.on_call(i, answer.calls[i].id, answer.calls[i].name);
            sink.on_call_arguments(i, answer.calls[i].arguments);
        }
        runner::model_answer ended;
        ended.reason = answer.calls.empty() ? answer.reason : runner::finish_reason::tool_calls;
        if (answer.tokens > 0) {
            ended.usage.emplace();
            ended.usage->input_tokens = answer.tokens;
            ended.usage->output_tokens = answer.tokens;
        }
        co_return ended;
    }
};

} // namespace agui::test
