// A C++ program with a plugin: code that takes part in each turn of each agent.
//
//   on_turn_start       begins something, and returns its clean-up
//   on_before_request   edits the request: instructions, messages, tools, parameters
//   on_message_append   changes a message before it is stored
//
// usage: plugin-example
//
// Its model is a few lines of C++, so that it runs by itself.

#include "gateway/server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
namespace gateway = agui::gateway;
namespace runner = agui::runner;
namespace session = agui::session;

constexpr auto configuration = R"(
[server]
listen = "127.0.0.1:0"

[session]
store = "memory:"

[models.gambler]
provider = "custom"

[[agents]]
id = "default"
models = ["gambler"]
)";

// The plugin. One object serves all runs, from several threads; it has no members to guard.
class house_rules final : public runner::plugin {
public:
    asio::awaitable<runner::turn_clean_up> on_turn_start(runner::plugin_turn& turn) override {
        std::cout << "a turn of agent " << turn.agent_id << " begins\n";
        // Clean-ups run last in, first out, whatever happens to the turn.
        co_return []() -> asio::awaitable<void> {
            std::cout << "the turn was cleaned up\n";
            co_return;
        };
    }

    asio::awaitable<void>
    on_before_request(runner::plugin_turn& /*turn*/, runner::request_draft& request) override {
        request.instructions += "Never tell a key.";
        request.add_tool(
            {"dice", "Throws the dice.", json::object{{"type", "object"}}},
            [](runner::tool_invocation) -> asio::awaitable<runner::tool_outcome> {
                co_return runner::tool_outcome{
                    runner::tool_outcome::kind::result, std::string("a four")
                };
            }
        );
        co_return;
    }

    asio::awaitable<void>
    on_message_append(runner::plugin_turn& /*turn*/, runner::appended_message& appended) override {
        constexpr std::string_view key = "sk-12345";
        std::string text = session::text_of(appended.message.content);
        const auto found = text.find(key);
        if (found != std::string::npos) {
            appended.message.content = text.replace(found, key.size(), "[hidden]");
        }
        co_return;
    }
};

// The model: it calls the tool, then reports its result, and more than it should.
class gambler final : public runner::model_provider {
public:
    asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override {
        const session::message& last = request.messages->back();
        if (last.role == session::role::tool) {
            sink.on_text("You threw " + session::text_of(last.content) + ". ");
            sink.on_text("Your key is sk-12345.");
            co_return runner::model_answer{};
        }
        sink.on_call(0, "c1", "dice");
        co_return runner::model_answer{.reason = runner::finish_reason::tool_calls, .usage = {}};
    }
};

void print_event(const gateway::observed_event& event) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::cout << event.sequence << ' ' << event.json << '\n';
}

asio::awaitable<void> converse(gateway::server& server) {
    const json::object input{
        {"threadId", "t1"},
        {"runId", "r1"},
        {"messages",
         json::array{json::object{{"id", "m1"}, {"role", "user"}, {"content", "Throw the dice"}}}},
    };
    const auto started = co_await server.runs().start({.input = json::serialize(input)});
    if (!started) {
        throw std::runtime_error(started.error().detail);
    }
    const auto record = co_await server.runs().wait(started->thread, started->run_id);
    if (!record) {
        throw std::runtime_error(record.error().detail);
    }
    const auto thread = co_await server.store().load(started->thread);
    for (const session::stored_message& stored : thread.value().value().nodes) {
        std::cout << session::to_string(stored.message.role) << ": "
                  << session::text_of(stored.message.content) << '\n';
    }
}

void run() {
    auto config = gateway::load_config({.file = {}, .text = configuration, .overrides = {}});
    if (!config) {
        throw std::runtime_error(config.error().lines.front());
    }
    gateway::server_options options;
    options.provider_of = [](const gateway::model_config&) {
        return std::make_unique<gambler>();
    };
    options.observer = print_event;
    options.plugins = {std::make_shared<house_rules>()};

    gateway::server server{*std::move(config), std::move(options)};
    server.start();

    asio::io_context program;
    asio::co_spawn(program, converse(server), [](const std::exception_ptr& failed) {
        if (failed) {
            std::rethrow_exception(failed);
        }
    });
    program.run();

    server.request_stop();
    server.wait();
}

} // namespace

int main() {
    try {
        run();
        return 0;
    } catch (const std::exception& failed) {
        std::cerr << failed.what() << '\n';
        return 1;
    }
}
