#pragma once

#include "runner/chat/chat_conversation.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace agui::runner {

// The steps of a chat, in the order in which they happen.

/// A piece of the model's reasoning.
struct thinking_step {
    std::string text;
};

/// A piece of the model's text.
struct content_step {
    std::string text;
};

/// With reply_format::items: a part of the reply that is not text.
struct segment_step {
    boost::json::object segment;
};

/// The model's answer is complete and calls tools. The chat continues after submit_tool_results().
struct tool_calls_step {
    std::vector<session::tool_call> calls;
    std::string content; ///< The answer's text before the calls; may be empty.
};

/// submit_tool_results() has taken effect.
struct tool_results_step {
    std::size_t count = 0;
};

/// The last step. A chat ends as completed, max_output_tokens, max_rounds, tool_loop, token_limit,
/// cancelled, aborted, run_timeout (no results were submitted in time), or with a failure of the
/// model.
struct done_step : chat_end {
    chat_totals totals;
};

using chat_step = std::variant<
    thinking_step, content_step, segment_step, tool_calls_step, tool_results_step, done_step>;

struct chat_loop_settings {
    /// Instructions and limits, which count over the whole chat. The parameters are replaced by the
    /// model's.
    agent_settings agent = {};
    /// How long to wait for results after the program pulled a tool_calls_step.
    std::chrono::milliseconds results_timeout{600'000};
    std::vector<owned_model> fallbacks = {}; ///< Asked in this order when a model fails.
    std::shared_ptr<logger> log = {};        ///< May be null.
    /// Plugins of each turn, in the order of registration. A tool_calls_step ends a turn.
    plugin_list plugins = {};
};

/// A conversation with a model. The program pulls its steps and executes the tools itself. It uses
/// the loop of run_agent(). Used on one executor only. The model's answer is read no faster than
/// the program pulls steps. May be destroyed at any time, even while next() is awaited: the current
/// run holds everything that it uses and ends soon.
class chat_loop {
public:
    /// Starts at once.
    chat_loop(
        boost::asio::any_io_executor executor, owned_model model,
        std::vector<session::message> messages, std::vector<tool_definition> tools,
        chat_loop_settings settings = {}
    );
    /// Cancels the chat.
    ~chat_loop();
    chat_loop(const chat_loop&) = delete;
    chat_loop& operator=(const chat_loop&) = delete;

    /// The next step; nullopt after the done_step. After a tool_calls_step without results it waits
    /// for them, at most settings.results_timeout after that step was pulled. One call at a time.
    [[nodiscard]] boost::asio::awaitable<std::optional<chat_step>> next();

    /// Takes the results of the last tool_calls_step, in any order. A call without a result gets an
    /// error result. errc::unknown_tool_call if no call waits for a result, or if one of the
    /// results answers none of those calls; nothing is taken then.
    [[nodiscard]] result<void> submit_tool_results(const std::vector<chat_tool_result>& results);

    /// Ends the chat at any point. The remaining step is a done_step with `cancelled`.
    void cancel();

    /// All messages so far, including the model's. Call it after the done_step.
    [[nodiscard]] std::vector<session::message> messages() const;

private:
    struct state;
    std::shared_ptr<state> state_;
};

} // namespace agui::runner
