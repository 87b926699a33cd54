// The gateway inside a C++ program, with three tools that are C++ functions:
//
//   get_time           runs here; the model gets its result within the same run
//   disk_space         also runs here; a plain blocking function, with threads of its own
//   change_background  hands the call to the client when it is called: the run ends, and
//                      the client of /agui executes the call and posts the result
//
// usage: embedding-example [CONFIG.toml]
//
// Without a configuration it listens on 127.0.0.1:8080, keeps everything in memory, and its model
// is a script.

#include "gateway/server.hpp"
#include "runner/tools/blocking_tool.hpp"
#include "scripted_model.hpp"

#include <boost/asio/thread_pool.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <ctime>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>

namespace {

namespace json = boost::json;
namespace gateway = agui::gateway;
namespace runner = agui::runner;
using boost::asio::awaitable;

constexpr auto built_in_config = R"(
[session]
store = "memory:"

[models.main]
provider = "scripted"
script = "built-in"

[[agents]]
id = "default"
models = ["main"]
)";

// A tool is a coroutine: it may wait (for a socket, a timer) without holding a thread. It gets the
// call by value, because it may outlive the run that made it. The arguments are always a JSON
// object, but a model wrote its contents.
awaitable<runner::tool_outcome> get_time(runner::tool_invocation call) {
    const auto* zone = call.arguments.if_contains("zone");
    if (zone != nullptr && *zone != "UTC") {
        // An error is a result too: the model sees it and can try again.
        co_return runner::tool_outcome{runner::tool_outcome::kind::error, "zone must be \"UTC\""};
    }
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    std::string text(sizeof "2026-01-01T00:00:00Z", '\0');
    text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
    co_return runner::tool_outcome{runner::tool_outcome::kind::result, text};
}

// A plain function may block: it runs on a thread of a pool. An exception becomes an error result,
// and its text stays in the log.
runner::tool_outcome disk_space(const runner::tool_invocation&) {
    const auto space = std::filesystem::space("/");
    const auto text = std::to_string(space.available >> 30U) + " GiB are free";
    return runner::tool_outcome{runner::tool_outcome::kind::result, text};
}

// A tool hands a call to the caller if the server cannot execute it. This is decided for each call:
// the same tool could execute calls here for some threads and hand them over for others.
awaitable<runner::tool_outcome> change_background(runner::tool_invocation) {
    co_return runner::tool_outcome{runner::tool_outcome::kind::external, ""};
}

// `parameters` is a JSON Schema, which model servers require.
runner::tool_definition define(std::string name, std::string description, json::value parameters) {
    return {std::move(name), std::move(description), std::move(parameters)};
}

runner::tool_registry make_tools(boost::asio::thread_pool& pool) {
    runner::tool_registry tools;
    tools.add(
        define("get_time", "The current time.", json::parse(R"({
            "type": "object",
            "properties": {"zone": {"type": "string", "enum": ["UTC"]}}
        })")),
        get_time
    );
    tools.add(
        define("disk_space", "The free space of the disk.", json::parse(R"({
            "type": "object",
            "properties": {}
        })")),
        runner::blocking_tool(disk_space, pool), {.timeout = std::chrono::seconds(5)}
    );
    tools.add(
        define("change_background", "Changes the background colour of the page.", json::parse(R"({
            "type": "object",
            "properties": {"color": {"type": "string"}},
            "required": ["color"]
        })")),
        change_background
    );
    return tools;
}

int run(const std::string& config_file) {
    gateway::config_sources sources;
    sources.file = config_file;
    sources.text = config_file.empty() ? built_in_config : "";
    auto config = gateway::load_config(sources);
    if (!config) {
        for (const auto& line : config.error().lines) {
            std::cerr << line << '\n';
        }
        return 2;
    }

    boost::asio::thread_pool pool(2); // Made before the server, whose tools refer to it.
    gateway::server_options options;
    options.tools = make_tools(pool);
    options.script_of = [](const gateway::model_config&) {
        return embedding::scripted_model();
    };
    options.demo_page = true;
    options.handle_signals = true; // SIGINT and SIGTERM let active runs end first.

    gateway::server server{*std::move(config), std::move(options)};
    server.start();
    std::cout << "listening on " << server.url() << std::endl;
    server.wait();
    return 0;
}

} // namespace

int main(int count, char** values) {
    try {
        return run(count > 1 ? values[1] : "");
    } catch (const std::exception& failed) {
        std::cerr << failed.what() << '\n';
        return 1;
    }
}
