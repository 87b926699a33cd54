#pragma once

#include "runner/mcp/mcp_tools.hpp"

#include "tests/runner/mcp/fake_mcp_server.hpp"
#include "tests/support/coroutine_test.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace agui::runner {

namespace asio = boost::asio;
namespace json = boost::json;
using test::fake_mcp_server;
using test::text_result;
using channel = fake_mcp_server::channel;
using list = std::vector<std::string>;
using std::chrono::milliseconds;

/// mcp_tools with a fake server, whose tools answer `hi`.
class McpTools : public test::coroutine_test {
protected:
    McpTools() {
        server.answer = [](channel& over, const json::object& message) {
            if (message.contains("id")) {
                over.result(message, text_result("hi"));
            }
        };
    }
    ~McpTools() override {
        if (tools_) {
            run(tools_->stop());
        }
    }

    static mcp_server_settings settings_for(std::string name, fake_mcp_server& from) {
        mcp_server_settings settings;
        settings.client.server = std::move(name);
        settings.client.connect_timeout = milliseconds(2'000);
        settings.channel = [&from](asio::any_io_executor on) {
            return from.open(std::move(on));
        };
        settings.reconnect_min = milliseconds(1);
        settings.reconnect_max = milliseconds(2);
        settings.list_pause = milliseconds(1);
        return settings;
    }

    void start(std::vector<mcp_server_settings> servers) {
        tools_.emplace(context().get_executor(), std::move(servers), registry, log);
        run(tools_->start(milliseconds(10'000)));
    }
    void start() { start({settings_for("s", server)}); }
    mcp_tools& tools() { return *tools_; }

    list names() const {
        list all;
        for (const tool_definition& each : registry.snapshot()->definitions({})) {
            all.push_back(each.name);
        }
        return all;
    }

    std::string call(std::string_view name) {
        const auto tools = registry.snapshot();
        const tool_function* const function = tools->find(name);
        if (function == nullptr) {
            return "no such tool";
        }
        return say(run((*function)(invocation())));
    }

    static tool_invocation invocation() {
        tool_invocation made;
        made.arguments = {{"city", "Bern"}};
        return made;
    }

    static std::string say(const tool_outcome& outcome) {
        return (outcome.what == tool_outcome::kind::error ? "error: " : "result: ") +
               std::get<std::string>(outcome.content);
    }

    /// Waits until the condition is true.
    template <class Condition>
    void until(Condition condition) {
        run([](asio::io_context& on, Condition so) -> asio::awaitable<void> {
            asio::steady_timer pause(on);
            while (!so()) {
                pause.expires_after(milliseconds(1));
                co_await pause.async_wait(asio::use_awaitable);
            }
        }(context(), condition));
    }

    std::size_t lines(std::string_view part) const {
        const list all = log.lines();
        return static_cast<std::size_t>(std::ranges::count_if(all, [part](const std::string& one) {
            return one.find(part) != std::string::npos;
        }));
    }

    fake_mcp_server server;
    tool_registry registry;
    memory_logger log;

private:
    std::optional<mcp_tools> tools_;
};

} // namespace agui::runner
