#pragma once

#include "runner/chat/chat_conversation.hpp"
#include "runner/tools/typed_tool.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <vector>

namespace agui::runner {

struct chat_with_tools {
    /// First place to look up a function for a tool that has none.
    tool_registry registry = {};
    /// Second place, if the registry lacks the tool or has it only as unavailable. If both lack it,
    /// its calls get an error result. They replace agent.executors.
    tool_executors executors = {};
    chat_listeners listeners = {};
    /// Instructions and limits: max_rounds, loop detection and the callback that decides about a
    /// loop. The parameters are replaced by the model's.
    agent_settings agent = {};
    std::vector<owned_model> fallbacks = {}; ///< Asked in this order when a model fails.
    std::shared_ptr<logger> log = {};        ///< May be null.
    /// Plugins of the conversation, which is one turn; in the order of registration.
    plugin_list plugins = {};
};

/// Runs a whole conversation with the loop of run_agent(): asks the model, executes the tools that
/// it calls, and asks again until an answer has no calls. Runs on the caller's executor. The model
/// is offered `tools`, each with its function (see tool()), or the tools of config.registry if
/// `tools` is empty. `stop`, which may be null, ends the conversation early from any thread; it
/// serves for one call and must outlive the await. Cancelling the caller (terminal) ends it, too. A
/// tool that ignores its cancellation may run on afterwards: it holds everything that it needs.
/// Throws std::invalid_argument if two tools have the same name.
[[nodiscard]] boost::asio::awaitable<chat_result> chat_loop_with_tools(
    owned_model model, std::vector<session::message> messages, std::vector<server_tool> tools,
    chat_with_tools config, stop_source* stop = nullptr
);

} // namespace agui::runner
