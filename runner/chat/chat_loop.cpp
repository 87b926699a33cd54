#include "runner/chat/chat_loop.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <deque>
#include <utility>

namespace agui::runner {
namespace asio = boost::asio;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

// Deltas that nobody has pulled yet: more would be a model that is read faster than its answer is
// used.
constexpr std::size_t most_steps = 256;

} // namespace

struct chat_loop::state : std::enable_shared_from_this<state> {
    state(
        asio::any_io_executor where, model_provider& model, std::vector<session::message> messages,
        std::vector<tool_definition> tools_, chat_loop_settings given
    )
        : executor(std::move(where)),
          settings(std::move(given)),
          tools(std::move(tools_)),
          conversation(
              model, std::move(messages), settings.agent, listeners(),
              settings.log != nullptr ? *settings.log : null_logger()
          ),
          stepped(executor, asio::steady_timer::time_point::max()),
          pulled(executor, asio::steady_timer::time_point::max()),
          answered(executor) {
        conversation.set_plugins(settings.plugins);
        conversation.set_room(
            [this] { return steps.size() < most_steps; }, [this] { return next_pull(); }
        );
    }

    asio::awaitable<void> next_pull() {
        pulled.expires_at(asio::steady_timer::time_point::max());
        (void)co_await pulled.async_wait(as_result);
    }

    chat_listeners listeners() {
        return {
            .thinking = [this](std::string_view text) { push(thinking_step{std::string(text)}); },
            .content = [this](std::string_view text) { push(content_step{std::string(text)}); },
            .calls = {},
            .results = {},
        };
    }

    void push(chat_step step) {
        steps.push_back(std::move(step));
        stepped.cancel();
    }

    asio::awaitable<void> run() { push(done_step{co_await run_to_end(), conversation.totals()}); }

    asio::awaitable<stop_reason> run_to_end() {
        const std::uint32_t most_rounds = settings.agent.max_rounds;
        for (;;) {
            if (cancelled) {
                co_return stop_reason::cancelled;
            }
            // Of the whole chat, though each run counts its own.
            conversation.agent().max_rounds = most_rounds - conversation.totals().rounds;
            const auto source = std::make_unique<stop_source>(executor);
            stop = source.get();
            const stop_reason reason =
                co_await conversation.continue_run(tool_registry(), tools, *source);
            stop = nullptr;
            if (reason != stop_reason::external_tool) {
                co_return reason;
            }
            push(tool_calls_step{conversation.pending(), conversation.pending_content()});
            waiting_for_results = true;
            answered.expires_after(settings.results_timeout);
            (void)co_await answered.async_wait(as_result);
            // Results that came as the timer expired count.
            const bool late = std::exchange(waiting_for_results, false);
            if (cancelled) {
                co_return stop_reason::cancelled;
            }
            if (late) {
                co_return stop_reason::run_timeout;
            }
            push(tool_results_step{results});
        }
    }

    void cancel() {
        cancelled = true;
        if (stop != nullptr) {
            (void)stop->request(stop_reason::cancelled);
        }
        answered.cancel();
        pulled.cancel();
    }

    const asio::any_io_executor executor;
    const chat_loop_settings settings;
    const std::vector<tool_definition> tools;
    std::deque<chat_step> steps;
    chat_conversation conversation;
    asio::steady_timer stepped;  ///< Cancelled when there is a step.
    asio::steady_timer pulled;   ///< Cancelled when there is room for one.
    asio::steady_timer answered; ///< Cancelled when there are results; expires when they are late.
    stop_source* stop = nullptr; ///< Of the run under way.
    std::size_t results = 0;
    bool waiting_for_results = false;
    bool cancelled = false;
    bool done = false; ///< The done_step was pulled.
};

chat_loop::chat_loop(
    asio::any_io_executor executor, model_provider& model, std::vector<session::message> messages,
    std::vector<tool_definition> tools, chat_loop_settings settings
)
    : state_(std::make_shared<state>(
          std::move(executor), model, std::move(messages), std::move(tools), std::move(settings)
      )) {
    asio::co_spawn(
        state_->executor,
        [](std::shared_ptr<state> self) -> asio::awaitable<void> {
            co_await self->run();
        }(state_),
        asio::detached
    );
}

chat_loop::~chat_loop() { state_->cancel(); }

asio::awaitable<std::optional<chat_step>> chat_loop::next() {
    const std::shared_ptr<state> self = state_; // The loop may be destroyed meanwhile.
    if (self->done) {
        co_return std::nullopt;
    }
    while (self->steps.empty()) {
        self->stepped.expires_at(asio::steady_timer::time_point::max());
        (void)co_await self->stepped.async_wait(as_result);
    }
    chat_step step = std::move(self->steps.front());
    self->steps.pop_front();
    self->pulled.cancel();
    self->done = std::holds_alternative<done_step>(step);
    co_return step;
}

result<void> chat_loop::submit_tool_results(const std::vector<chat_tool_result>& results) {
    if (!state_->waiting_for_results || state_->cancelled) {
        return failure{errc::unknown_tool_call, "no results are waited for"};
    }
    result<void> added = state_->conversation.add_results(results);
    if (added) {
        state_->waiting_for_results = false;
        state_->results = results.size();
        state_->answered.cancel();
    }
    return added;
}

void chat_loop::cancel() { state_->cancel(); }

std::vector<session::message> chat_loop::messages() const {
    return state_->conversation.messages();
}

} // namespace agui::runner
