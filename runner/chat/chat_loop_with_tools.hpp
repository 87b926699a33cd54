#pragma once

#include "runner/chat/chat_conversation.hpp"
#include "runner/tools/typed_tool.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <vector>

namespace agui::runner {

struct chat_with_tools {
    /// Where the function of a tool that has none is looked up first.
    tool_registry registry = {};
    /// Where it is looked up if the registry does not have it, or only as one that is unavailable.
    /// A tool that neither has is answered for with an error result. They replace agent.executors.
    tool_executors executors = {};
    chat_listeners listeners = {};
    /// Instructions and limits: max_rounds, loop detection and the callback that decides about a
    /// loop. The parameters are the model's.
    agent_settings agent = {};
    std::vector<owned_model> fallbacks = {}; ///< Asked in this order when a model fails.
    std::shared_ptr<logger> log = {};        ///< May be null.
    /// Take part in the conversation, which is one turn; in the order of registration.
    plugin_list plugins = {};
};

/// A whole conversation: asks the model, executes the tools it calls, asks again, until an answer
/// has no calls. Runs on the caller's executor, with the loop of run_agent(). `tools` are what the
/// model is offered, each with its function (see tool()); without any it is offered what
/// config.registry has. `stop`, which may be null, ends it early from any thread; it serves for one
/// call and must outlive the await. So does a cancellation of the caller (terminal). A tool that
/// ignores its cancellation may run on afterwards: it holds everything it needs. Throws
/// std::invalid_argument for two tools of one name.
[[nodiscard]] boost::asio::awaitable<chat_result> chat_loop_with_tools(
    owned_model model, std::vector<session::message> messages, std::vector<server_tool> tools,
    chat_with_tools config, stop_source* stop = nullptr
);

} // namespace agui::runner
