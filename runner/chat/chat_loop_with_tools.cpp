#include "runner/chat/chat_loop_with_tools.hpp"

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>
#include <string>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

asio::awaitable<tool_outcome> not_registered(tool_invocation) {
    co_return tool_outcome{
        tool_outcome::kind::unavailable, std::string("Tool not registered"), "tool not registered"
    };
}

// The tools of the chat. A tool without a registered function is unavailable, so an executor takes
// its place.
tool_registry complete(std::vector<server_tool> tools, const tool_registry& registered) {
    if (tools.empty()) {
        return registered;
    }
    const auto known = registered.snapshot();
    for (server_tool& each : tools) {
        const auto* const found = each.function ? nullptr : known->find_tool(each.definition.name);
        if (found != nullptr) {
            each.function = found->function;
            each.options = found->options;
        } else if (!each.function) {
            each.function = not_registered;
        }
    }
    return tool_registry(std::move(tools));
}

// Turns a cancellation into a stop, so that the chat ends in its own order and reports what was
// done so far.
struct cancelling_filter {
    stop_source* stop;

    asio::cancellation_type operator()(asio::cancellation_type /*type*/) const noexcept {
        (void)stop->request(stop_reason::cancelled);
        return asio::cancellation_type::none;
    }
};

asio::awaitable<chat_result> run_to_end(
    chat_parts parts, tool_registry tools, asio::any_io_executor executor, stop_source* stop
) {
    std::optional<stop_source> own;
    if (stop == nullptr) {
        stop = &own.emplace(std::move(executor));
    }
    const asio::cancellation_state before = co_await asio::this_coro::cancellation_state;
    if (before.cancelled() != asio::cancellation_type::none) {
        (void)stop->request(stop_reason::cancelled);
    }
    co_await asio::this_coro::reset_cancellation_state(cancelling_filter{stop});
    chat_conversation conversation(std::move(parts));
    chat_end ended = co_await conversation.continue_run(tools, {}, *stop);
    chat_response response{
        .reason = ended.what,
        .totals = conversation.totals(),
        .pending = conversation.pending(),
        .messages = conversation.messages(),
    };
    if (!ended.is_answer()) {
        co_return chat_failure{std::move(ended), std::move(response)};
    }
    co_return response;
}

} // namespace

asio::awaitable<chat_result> chat_loop_with_tools(
    owned_model model, std::vector<session::message> messages, std::vector<server_tool> tools,
    chat_with_tools config, stop_source* stop
) {
    const tool_registry registry = complete(std::move(tools), config.registry);
    config.agent.executors = std::make_shared<tool_executors>(std::move(config.executors));
    chat_parts parts{
        .model = std::move(model),
        .fallbacks = std::move(config.fallbacks),
        .messages = std::move(messages),
        .agent = std::move(config.agent),
        .listeners = std::move(config.listeners),
        .plugins = std::move(config.plugins),
        .log = std::move(config.log),
    };
    // A coroutine with its own cancellation state, so that the caller's stays unchanged.
    const auto executor = co_await asio::this_coro::executor;
    co_return co_await asio::co_spawn(
        executor, run_to_end(std::move(parts), registry, executor, stop), asio::use_awaitable
    );
}

} // namespace agui::runner
