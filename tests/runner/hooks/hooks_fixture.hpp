#pragma once

#include "session/history/turn_failure.hpp"
#include "tests/runner/loop/agent_loop_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace agui::runner {

/// A plugin of functions, one for each hook. Records each call.
class fake_plugin final : public plugin {
public:
    fake_plugin(std::string name, std::vector<std::string>& journal)
        : name_(std::move(name)), journal_(journal) {}

    std::function<boost::asio::awaitable<turn_clean_up>(plugin_turn&)> start;
    std::function<boost::asio::awaitable<void>(request_draft&)> before;
    std::function<void(const session::message&, const stream_data&)> stream;
    std::function<boost::asio::awaitable<void>(after_request&)> after;
    std::function<boost::asio::awaitable<void>(appended_message&)> append;
    std::function<boost::asio::awaitable<void>(stop_reason)> end;

    void note(const std::string& what) { journal_.push_back(name_ + " " + what); }

    /// A start whose clean-up records that it ran, and then does `more`.
    void clean_up_with(std::function<boost::asio::awaitable<void>()> more = {}) {
        start = [this, more](plugin_turn&) -> boost::asio::awaitable<turn_clean_up> {
            co_return [this, more]() -> boost::asio::awaitable<void> {
                note("clean-up");
                if (more) {
                    co_await more();
                }
            };
        };
    }

    boost::asio::awaitable<turn_clean_up> on_turn_start(plugin_turn& turn) override {
        note("start");
        if (start) {
            co_return co_await start(turn);
        }
        co_return turn_clean_up();
    }
    boost::asio::awaitable<void>
    on_before_request(plugin_turn& /*turn*/, request_draft& request) override {
        note("before");
        if (before) {
            co_await before(request);
        }
    }
    void on_stream_data(
        plugin_turn& /*turn*/, const session::message& so_far, const stream_data& data
    ) override {
        note("stream " + session::text_of(so_far.content));
        if (stream) {
            stream(so_far, data);
        }
    }
    boost::asio::awaitable<void>
    on_after_request(plugin_turn& /*turn*/, after_request& request) override {
        note("after");
        if (after) {
            co_await after(request);
        }
    }
    boost::asio::awaitable<void>
    on_message_append(plugin_turn& /*turn*/, appended_message& appended) override {
        note("append " + session::text_of(appended.message.content));
        if (append) {
            co_await append(appended);
        }
    }
    boost::asio::awaitable<void> on_turn_end(plugin_turn& /*turn*/, stop_reason reason) override {
        note("end");
        if (end) {
            co_await end(reason);
        }
    }

private:
    std::string name_;
    std::vector<std::string>& journal_;
};

/// Waits until it is cancelled, and then ends without an exception.
inline boost::asio::awaitable<void> hold_until_cancelled() {
    boost::asio::steady_timer never(
        co_await boost::asio::this_coro::executor, boost::asio::steady_timer::time_point::max()
    );
    co_await never.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

/// Lets other handlers run.
inline boost::asio::awaitable<void> yield() {
    boost::asio::steady_timer now(
        co_await boost::asio::this_coro::executor, boost::asio::steady_timer::time_point::min()
    );
    co_await now.async_wait(boost::asio::use_awaitable);
}

inline session::message message_of(session::role role, std::string text) {
    session::message made;
    made.role = role;
    made.content = std::move(text);
    return made;
}

inline session::message result_of(std::string call_id, std::string text) {
    session::message made = message_of(session::role::tool, std::move(text));
    made.tool_call_id = std::move(call_id);
    return made;
}

/// The loop with two plugins, A and B.
class Hooks : public AgentLoop {
protected:
    Hooks() {
        sink.on_step = [this](const std::string& step) {
            if (step == "finish") {
                journal.push_back(step);
            }
        };
    }

    void play() { play_with(model); }

    void play_with(model_provider& provider) {
        const plugin_list plugins{a, b};
        const loop_services services{
            .model = provider,
            .tools = tools,
            .ids = ids,
            .time = time,
            .log = log,
            .max_result_bytes = max_result_bytes,
            .plugins = &plugins,
        };
        run(run_agent(request, services, sink, stop));
    }

    /// Runs until the hook of a run that has ended has set `done`.
    template <class Done>
    void run_until(Done done) {
        context().restart();
        while (!done() && context().run_one() > 0) {
        }
    }

    /// The texts of the stored branch after the user's message.
    std::vector<std::string> stored_texts() {
        std::vector<std::string> texts;
        const session::thread_record thread = stored();
        for (const session::node_index node : thread.path(thread.branches.at(0).tip)) {
            const session::message& each = thread.nodes[node].message;
            if (node > 0 && !session::is_failure_note(each)) {
                texts.push_back(
                    std::string(session::to_string(each.role)) + " " +
                    session::text_of(each.content)
                );
            }
        }
        return texts;
    }

    [[nodiscard]] std::ptrdiff_t noted(const std::string& what) const {
        return std::ranges::count(journal, what);
    }

    std::vector<std::string> journal;
    std::shared_ptr<fake_plugin> a = std::make_shared<fake_plugin>("A", journal);
    std::shared_ptr<fake_plugin> b = std::make_shared<fake_plugin>("B", journal);
};

} // namespace agui::runner
