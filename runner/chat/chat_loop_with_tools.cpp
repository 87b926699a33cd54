#include "runner/chat/chat_loop_with_tools.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/throw_exception.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

namespace agui::runner {

namespace {

boost::asio::awaitable<tool_outcome> not_registered(tool_invocation) {
    co_return tool_outcome{
        tool_outcome::kind::unavailable, std::string("Tool not registered"), "tool not registered"
    };
}

} // namespace

void throw_exception_from_error(const chat_failure& error, const boost::source_location& where) {
    boost::throw_exception(std::runtime_error(std::string(describe(error.reason))), where);
}

boost::asio::awaitable<chat_result> chat_loop_with_tools(
    model_provider& model, std::vector<session::message> messages,
    std::vector<tool_definition> tools, chat_with_tools config, stop_source* stop
) {
    // A tool that the registry does not have is unavailable: an executor takes its place.
    const auto registered = config.registry != nullptr ? config.registry->snapshot() : nullptr;
    tool_registry registry;
    for (tool_definition& tool : tools) {
        const auto* const found = registered ? registered->find_tool(tool.name) : nullptr;
        if (found != nullptr) {
            registry.add(std::move(tool), found->function, found->options);
        } else {
            registry.add(std::move(tool), not_registered);
        }
    }
    config.agent.executors = std::make_shared<tool_executors>(std::move(config.executors));
    chat_conversation conversation(
        model, std::move(messages), std::move(config.agent), std::move(config.listeners),
        config.log != nullptr ? *config.log : null_logger()
    );
    conversation.set_plugins(std::move(config.plugins));
    std::optional<stop_source> own;
    if (stop == nullptr) {
        stop = &own.emplace(co_await boost::asio::this_coro::executor);
    }
    chat_response response;
    response.reason = co_await conversation.continue_run(registry, {}, *stop);
    response.totals = conversation.totals();
    response.pending = conversation.pending();
    response.messages = conversation.messages();
    const bool usable = class_of(response.reason) == stop_class::success ||
                        response.reason == stop_reason::max_output_tokens;
    if (!usable) {
        const stop_reason reason = response.reason;
        co_return chat_failure{reason, std::move(response)};
    }
    co_return response;
}

} // namespace agui::runner
