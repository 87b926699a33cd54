#include "runner/chat/chat_loop_with_tools.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/throw_exception.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

namespace agui::runner {

namespace {

tool_function function_of(const std::string& name, const chat_with_tools& config) {
    if (config.registry != nullptr) {
        const auto registered = config.registry->snapshot();
        if (const tool_function* const found = registered->find(name)) {
            return *found;
        }
    }
    if (const auto found = config.executors.find(name); found != config.executors.end()) {
        return found->second;
    }
    return [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        co_return tool_outcome{
            tool_outcome::kind::error, std::string("Tool not registered"), "tool not registered"
        };
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
    tool_registry registry;
    for (tool_definition& tool : tools) {
        tool_function function = function_of(tool.name, config);
        registry.add(std::move(tool), std::move(function));
    }
    chat_conversation conversation(
        model, std::move(messages), std::move(config.agent), std::move(config.listeners),
        config.log != nullptr ? *config.log : null_logger()
    );
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
