#include "runner/chat/chat_loop.hpp"
#include "runner/chat/chat_loop_with_tools.hpp"
#include "session/base/as_result.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Programs that leave a chat at each of its steps. The sanitizer reports any use of an object that
// is gone.

namespace agui::runner {
namespace {

namespace asio = boost::asio;
// Returns false if it was cancelled.
asio::awaitable<bool> let_others_run() {
    asio::steady_timer now(
        co_await asio::this_coro::executor, asio::steady_timer::time_point::min()
    );
    const auto [ec] = co_await now.async_wait(as_result);
    co_return !ec;
}

// A model that calls two tools, then answers. After each wait it uses an object that it owns.
class patient_model final : public model_provider {
public:
    asio::awaitable<model_outcome> ask(const model_request&, model_sink& sink) override {
        const int round = ++rounds_;
        for (const std::string& word : words_) {
            const bool goes_on = co_await let_others_run();
            if (!goes_on) {
                co_return model_failure{model_failure::kind::cancelled, 0, words_.front()};
            }
            sink.on_reasoning(word);
            sink.on_text(word);
        }
        for (std::size_t i = 0; i < names_.size() && round < 3; ++i) {
            sink.on_call(i, "c" + std::to_string(round) + std::to_string(i), names_[i]);
            sink.on_call_arguments(i, R"({"n":)" + std::to_string(round) + "}");
        }
        co_return model_answer{
            round < 3 ? finish_reason::tool_calls : finish_reason::stop, std::nullopt
        };
    }

private:
    std::vector<std::string> words_ = {"a word that needs memory of its own"};
    std::vector<std::string> names_ = {"typed", "registered", "executor", "plugin"};
    int rounds_ = 0;
};

// A gate that opens once. Tools wait for it, whatever happens.
using gate = std::shared_ptr<asio::steady_timer>;

gate make_gate(asio::io_context& context) {
    return std::make_shared<asio::steady_timer>(context, asio::steady_timer::time_point::max());
}

void open(const gate& closed) { closed->expires_at(asio::steady_timer::time_point::min()); }

asio::awaitable<void> wait_at(gate closed) {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await closed->async_wait(as_result);
}

// A tool whose captures outlive the chat only if somebody holds them. Every second call waits.
struct tool_parts {
    gate closed;
    std::shared_ptr<int> calls = std::make_shared<int>(0);
    std::shared_ptr<int> returned = std::make_shared<int>(0);

    [[nodiscard]] tool_function function(std::string name) const {
        return [*this, name](tool_invocation) -> asio::awaitable<tool_outcome> {
            const bool outlives = ++*calls % 2 == 0;
            co_await let_others_run();
            if (outlives) {
                co_await wait_at(closed);
            }
            ++*returned;
            co_return tool_outcome{tool_outcome::kind::result, name};
        };
    }
};

class tool_plugin final : public plugin {
public:
    explicit tool_plugin(tool_parts parts) : parts_(std::move(parts)) {}

    asio::awaitable<void>
    on_before_request(plugin_turn& /*turn*/, request_draft& request) override {
        co_await let_others_run();
        request.add_tool({"plugin", "", {}}, parts_.function("a tool of a plugin, by name"));
    }

private:
    tool_parts parts_;
};

chat_with_tools make_config(const tool_parts& parts, bool plugins) {
    chat_with_tools config;
    config.registry.add({"registered", "", {}}, parts.function("a registered tool, by name"));
    config.executors["executor"] = parts.function("an executor, by its long name");
    config.log = std::make_shared<memory_logger>();
    if (plugins) {
        config.plugins = {std::make_shared<tool_plugin>(parts)};
    }
    return config;
}

std::vector<server_tool> make_tools(const tool_parts& parts) {
    return {
        tool(
            "typed", "", {"n"},
            [parts, name = std::string("a typed tool with a long name")](int
            ) -> asio::awaitable<std::string> {
                if (++*parts.calls % 2 == 0) {
                    co_await wait_at(parts.closed);
                }
                ++*parts.returned;
                co_return name;
            }
        ),
        {{"registered", "", {}}, {}},
        {{"executor", "", {}}, {}},
    };
}

// The number of chats that a test makes. `AGUI_TEST_CHATS` sets more, 1000 for all.
int chats() {
    const char* const wanted = std::getenv("AGUI_TEST_CHATS");
    return wanted == nullptr ? 120 : std::atoi(wanted);
}

// A program that awaits a chat and is cancelled after so many handlers. Returns false if there are
// fewer.
bool leave_after(int handlers, bool plugins, int first_call) {
    asio::io_context context(1);
    const gate closed = make_gate(context);
    std::shared_ptr<int> calls;
    std::shared_ptr<int> returned;
    asio::cancellation_signal leaving;
    std::optional<chat_result> ended;
    {
        const tool_parts parts{closed, std::make_shared<int>(first_call)};
        calls = parts.calls;
        returned = parts.returned;
        asio::co_spawn(
            context,
            chat_loop_with_tools(
                {std::make_shared<patient_model>()}, {user("Hi")}, make_tools(parts),
                make_config(parts, plugins)
            ),
            asio::bind_cancellation_slot(
                leaving.slot(),
                [&ended](std::exception_ptr thrown, chat_result result) {
                    EXPECT_EQ(thrown, nullptr);
                    ended.emplace(std::move(result));
                }
            )
        );
    }
    int done = 0;
    while (done < handlers && context.poll_one() > 0) {
        ++done;
    }
    const bool was_over = ended.has_value();
    leaving.emit(asio::cancellation_type::terminal);
    context.restart();
    context.poll();
    EXPECT_TRUE(ended) << "the chat waits for a tool that ignores its cancellation";
    if (ended && !was_over && !*ended) {
        EXPECT_EQ(ended->error().what, stop_reason::cancelled);
    }
    ended.reset();
    open(closed);
    context.restart();
    context.run();
    EXPECT_EQ(*calls, first_call + *returned);
    return done == handlers && !was_over;
}

TEST(ChatLifetime, ToolsOutliveChatsThatAreLeftAtEveryStep) {
    // Indexed by two choices: with or without plugins, and which of the tools wait.
    std::array<int, 4> handlers{};
    for (int i = 0; i < chats(); ++i) {
        const int variant = i % 4;
        int& wanted = handlers.at(static_cast<std::size_t>(variant));
        SCOPED_TRACE(std::to_string(variant) + " after " + std::to_string(wanted));
        const bool more = leave_after(wanted, variant % 2 == 0, variant / 2);
        wanted = more ? wanted + 1 : 0;
    }
}

// A function whose locals are a loop and its provider. It returns after so many steps, or once
// `leaving` is open.
asio::awaitable<void> pull_steps(int most, gate leaving, tool_parts parts, bool& reached_end) {
    const auto provider = std::make_shared<patient_model>();
    chat_loop_settings settings;
    settings.log = std::make_shared<memory_logger>();
    settings.plugins = {std::make_shared<tool_plugin>(parts)};
    chat_loop loop(
        co_await asio::this_coro::executor, {provider}, {user("Hi")},
        {{"typed", "", {}}, {"registered", "", {}}, {"executor", "", {}}}, std::move(settings)
    );
    for (int i = 0; i < most; ++i) {
        const std::optional<chat_step> step = co_await loop.next();
        if (!step) {
            reached_end = true;
            co_return;
        }
        if (const auto* const called = std::get_if<tool_calls_step>(&*step)) {
            std::vector<chat_tool_result> results;
            for (const session::tool_call& call : called->calls) {
                results.push_back({.call_id = call.id, .content = "ok"});
            }
            EXPECT_TRUE(loop.submit_tool_results(results));
        }
    }
    co_await leaving->async_wait(as_result);
}

// Leaves at once, or when nothing but waiting tools is left. Returns true if the chat was over
// before.
bool leave_loop_after(int steps, bool at_once, int first_call) {
    asio::io_context context(1);
    const gate closed = make_gate(context);
    const gate leaving = make_gate(context);
    bool reached_end = false;
    bool left = false;
    if (at_once) {
        open(leaving);
    }
    asio::co_spawn(
        context,
        pull_steps(steps, leaving, {closed, std::make_shared<int>(first_call)}, reached_end),
        [&left](std::exception_ptr thrown) {
            EXPECT_EQ(thrown, nullptr);
            left = true;
        }
    );
    context.poll();
    open(leaving);
    context.restart();
    context.poll();
    open(closed);
    context.restart();
    context.run(); // All of it ends by itself.
    EXPECT_TRUE(left);
    return reached_end;
}

TEST(ChatLifetime, ALoopMayBeLeftAfterEachOfItsSteps) {
    for (const bool at_once : {false, true}) {
        for (const int first_call : {0, 1}) {
            bool reached_end = false;
            for (int steps = 0; !reached_end; ++steps) {
                SCOPED_TRACE(steps);
                reached_end = leave_loop_after(steps, at_once, first_call);
                ASSERT_LT(steps, 200) << "it has no end";
            }
        }
    }
}

// The executor is destroyed with everything that waits on it, as at the end of main().
TEST(ChatLifetime, AContextMayBeDestroyedAfterEachHandler) {
    for (const bool with_tools : {false, true}) {
        bool over = false;
        for (int handlers = 0; !over; handlers += chats() < 1000 ? 5 : 1) {
            SCOPED_TRACE(handlers);
            asio::io_context context(1);
            const gate closed = make_gate(context);
            const tool_parts parts{closed};
            bool reached_end = false;
            const auto on_end = [&over](auto&&...) {
                over = true;
            };
            if (with_tools) {
                asio::co_spawn(
                    context,
                    chat_loop_with_tools(
                        {std::make_shared<patient_model>()}, {user("Hi")}, make_tools(parts),
                        make_config(parts, true)
                    ),
                    on_end
                );
            } else {
                asio::co_spawn(context, pull_steps(1000, closed, parts, reached_end), on_end);
            }
            for (int i = 0; i < handlers; ++i) {
                if (context.poll_one() == 0) { // Nothing but waiting tools is left.
                    open(closed);
                    context.restart();
                }
            }
            ASSERT_LT(handlers, 2000) << "it has no end";
        }
    }
}

// The first step is awaited after the loop is gone.
TEST(ChatLifetime, AStepMayBeAwaitedThoughItsLoopIsGone) {
    asio::io_context context(1);
    auto loop = std::make_unique<chat_loop>(
        context.get_executor(), owned_model{std::make_shared<patient_model>()},
        std::vector{user("Hi")}, std::vector<tool_definition>()
    );
    asio::awaitable<std::optional<chat_step>> next = loop->next();
    loop.reset();
    std::optional<chat_step> step;
    asio::co_spawn(
        context, std::move(next),
        [&step](std::exception_ptr, std::optional<chat_step> got) { step = std::move(got); }
    );

    context.run();

    ASSERT_TRUE(step);
    EXPECT_EQ(std::get<done_step>(*step).what, stop_reason::cancelled);
}

} // namespace
} // namespace agui::runner
