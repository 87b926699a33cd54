#include "runner/chat/chat_loop.hpp"

#include "session/base/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <utility>

namespace agui::runner {
namespace asio = boost::asio;

namespace {

// Deltas that are not pulled yet. With more of them, the model would be read faster than its answer
// is used.
constexpr std::size_t most_steps = 256;

} // namespace

struct chat_loop::state {
    state(
        asio::any_io_executor where, owned_model model, std::vector<session::message> messages,
        std::vector<tool_definition> tools_, chat_loop_settings settings
    )
        : executor(std::move(where)),
          results_timeout(settings.results_timeout),
          tools(std::move(tools_)),
          conversation(
              {.model = std::move(model),
               .fallbacks = std::move(settings.fallbacks),
               .messages = std::move(messages),
               .agent = std::move(settings.agent),
               .listeners = listeners(),
               .plugins = std::move(settings.plugins),
               .log = std::move(settings.log)}
          ),
          stepped(executor, asio::steady_timer::time_point::max()),
          pulled(executor, asio::steady_timer::time_point::max()),
          answered(executor) {
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
            .segment = [this](const boost::json::object& segment) { push(segment_step{segment}); },
        };
    }

    void push(chat_step step) {
        steps.push_back(std::move(step));
        stepped.cancel();
    }

    asio::awaitable<void> run() {
        chat_end ended = co_await run_to_end();
        push(done_step{std::move(ended), conversation.totals()});
    }

    asio::awaitable<chat_end> run_to_end() {
        const tool_registry none;
        while (!cancelled) {
            stop.emplace(executor);
            chat_end ended = co_await conversation.continue_run(none, tools, *stop);
            if (ended.what != stop_reason::external_tool) {
                co_return ended;
            }
            waiting_for_results = true;
            calls_pulled = false;
            push(tool_calls_step{conversation.pending(), conversation.pending_content()});
            co_await wait_for_results();
            // Results that arrived as the timer expired are accepted.
            const bool late = std::exchange(waiting_for_results, false);
            if (late && !cancelled) {
                ended.what = stop_reason::run_timeout;
                ended.detail = "no results arrived within results_timeout";
                co_return ended;
            }
            if (!cancelled) {
                push(tool_results_step{results});
            }
        }
        co_return chat_end{{}, stop_reason::cancelled};
    }

    asio::awaitable<void> wait_for_results() {
        while (!calls_pulled && !cancelled) {
            co_await next_pull();
        }
        if (waiting_for_results && !cancelled) {
            answered.expires_after(results_timeout);
            (void)co_await answered.async_wait(as_result);
        }
    }

    static asio::awaitable<std::optional<chat_step>> next(std::shared_ptr<state> self) {
        if (self->done) {
            co_return std::nullopt;
        }
        while (self->steps.empty()) {
            self->stepped.expires_at(asio::steady_timer::time_point::max());
            (void)co_await self->stepped.async_wait(as_result);
        }
        chat_step step = std::move(self->steps.front());
        self->steps.pop_front();
        self->done = std::holds_alternative<done_step>(step);
        self->calls_pulled = std::holds_alternative<tool_calls_step>(step);
        self->pulled.cancel();
        co_return step;
    }

    void cancel() {
        cancelled = true;
        if (stop) {
            (void)stop->request(stop_reason::cancelled);
        }
        answered.cancel();
        pulled.cancel();
    }

    const asio::any_io_executor executor;
    const std::chrono::milliseconds results_timeout;
    const std::vector<tool_definition> tools;
    std::deque<chat_step> steps;
    chat_conversation conversation;
    asio::steady_timer stepped;  ///< Cancelled when there is a step.
    asio::steady_timer pulled;   ///< Cancelled when there is room for one.
    asio::steady_timer answered; ///< Cancelled when there are results; expires when they are late.
    std::optional<stop_source> stop; ///< Stop source of the last run.
    std::size_t results = 0;
    bool waiting_for_results = false;
    bool calls_pulled = false; ///< The last pulled step is a tool_calls_step.
    bool cancelled = false;
    bool done = false; ///< The done_step was pulled.
};

chat_loop::chat_loop(
    asio::any_io_executor executor, owned_model model, std::vector<session::message> messages,
    std::vector<tool_definition> tools, chat_loop_settings settings
)
    : state_(std::make_shared<state>(
          std::move(executor), std::move(model), std::move(messages), std::move(tools),
          std::move(settings)
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

// Not a coroutine of this object, which may be destroyed before the first step is awaited.
asio::awaitable<std::optional<chat_step>> chat_loop::next() { return state::next(state_); }

result<void> chat_loop::submit_tool_results(const std::vector<chat_tool_result>& results) {
    if (!state_->waiting_for_results || state_->cancelled) {
        return failure{errc::unknown_tool_call, "the loop is not waiting for tool results"};
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
