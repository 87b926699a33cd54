// A C++ program that runs conversations itself, with a model that is its own code:
//
//   provider_of   the object that answers for a model with `provider = "custom"`
//   observer      sees each event of each run, like a client
//   runs()        starts a run and waits for its end; run_control.hpp has the rest: list, stop
//   store()       the conversation, after the run
//
// usage: own-model-example [TEXT]
//
// It also listens, on a free port: clients can use the same conversations at the same time.

#include "gateway/server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
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

[models.mirror]
provider = "custom"

[[agents]]
id = "default"
models = ["mirror"]
)";

// A model is one coroutine: it passes pieces of its answer to the sink and returns how it ended.
// One object serves all runs, from several threads.
class mirror final : public runner::model_provider {
public:
    asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override {
        std::string text = session::text_of(request.messages->back().content);
        std::ranges::reverse(text);
        sink.on_text("In a mirror: ");
        sink.on_text(text);
        co_return runner::model_answer{};
    }
};

// Called on the threads of the server, for all runs, so it must not block for long.
void print_event(const gateway::observed_event& event) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::cout << event.sequence << ' ' << event.json << '\n';
}

asio::awaitable<void> converse(gateway::server& server, std::string text) {
    const json::object input{
        {"threadId", "t1"},
        {"runId", "r1"},
        {"messages", json::array{json::object{{"id", "m1"}, {"role", "user"}, {"content", text}}}},
    };
    // Errors are values: agui::failure has a code and a text with the expected input.
    const auto started = co_await server.runs().start({.input = json::serialize(input)});
    if (!started) {
        throw std::runtime_error(started.error().detail);
    }
    const auto record = co_await server.runs().wait(started->thread, started->run_id);
    if (!record) {
        throw std::runtime_error(record.error().detail);
    }
    std::cout << "the run has ended: " << record->end_reason << '\n';

    const auto thread = co_await server.store().load(started->thread);
    for (const session::stored_message& stored : thread.value().value().nodes) {
        std::cout << session::to_string(stored.message.role) << ": "
                  << session::text_of(stored.message.content) << '\n';
    }
}

void run(std::string text) {
    auto config = gateway::load_config({.file = {}, .text = configuration, .overrides = {}});
    if (!config) {
        throw std::runtime_error(config.error().lines.front());
    }
    gateway::server_options options;
    options.provider_of = [](const gateway::model_config&) {
        return std::make_unique<mirror>();
    };
    options.observer = print_event;

    gateway::server server{*std::move(config), std::move(options)};
    server.start();

    // Runs live on the server's threads. The program awaits them on its own executor.
    asio::io_context program;
    asio::co_spawn(
        program, converse(server, std::move(text)),
        [](const std::exception_ptr& failed) {
            if (failed) {
                std::rethrow_exception(failed);
            }
        }
    );
    program.run();

    server.request_stop();
    server.wait();
}

} // namespace

int main(int count, char** values) {
    try {
        run(count > 1 ? values[1] : "Hello");
        return 0;
    } catch (const std::exception& failed) {
        std::cerr << failed.what() << '\n';
        return 1;
    }
}
