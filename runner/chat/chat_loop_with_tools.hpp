#pragma once

#include "runner/chat/chat_conversation.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>
#include <vector>

namespace agui::runner {

struct chat_with_tools {
    /// Where a tool's function is looked up first.
    const tool_registry* registry = nullptr;
    /// Where it is looked up if the registry does not have it, or only as one that is unavailable.
    /// A tool that neither has is answered for with an error result. They replace agent.executors.
    tool_executors executors = {};
    chat_listeners listeners = {}; ///< on_thinking, on_content, on_tool_calls, on_tool_results.
    /// Instructions, model parameters and limits: max_rounds, loop detection and the callback that
    /// decides about a loop.
    agent_settings agent = {};
    logger* log = nullptr; ///< Outlives the call; null: no log.
    /// Take part in the conversation, which is one turn; in the order of registration.
    plugin_list plugins = {};
};

struct chat_response {
    /// completed, max_output_tokens (the text was cut), or external_tool: a function has left its
    /// call to the caller.
    stop_reason reason = stop_reason::completed;
    chat_totals totals;
    std::vector<session::tool_call> pending; ///< With external_tool.
    std::vector<session::message> messages;  ///< The whole conversation, to go on with later.
};

/// Why there is no complete answer: max_rounds, tool_loop, token_limit, cancelled, or a failure of
/// the model.
struct chat_failure {
    stop_reason reason = stop_reason::error;
    chat_response so_far;
};

[[noreturn]] void
throw_exception_from_error(const chat_failure& error, const boost::source_location& where);

using chat_result = boost::system::result<chat_response, chat_failure>;

/// A whole conversation: asks the model, executes the tools it calls, asks again, until an answer
/// has no calls. Runs on the caller's executor, with the loop of run_agent(). `tools` are what the
/// model is offered. `stop`, which may be null, ends it early from any thread; it serves for one
/// call. `model`, and what `config` points to, must outlive the await; a tool that ignores its
/// cancellation may run on after it.
[[nodiscard]] boost::asio::awaitable<chat_result> chat_loop_with_tools(
    model_provider& model, std::vector<session::message> messages,
    std::vector<tool_definition> tools, chat_with_tools config, stop_source* stop = nullptr
);

} // namespace agui::runner
