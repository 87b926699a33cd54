// A conversation with a model server from the command line, without a gateway: the agent loop as a
// library, with two tools.
//
// usage: chat-loop BASE_URL MODEL [TEXT...]
//        chat-loop http://127.0.0.1:8081/v1 llama "What time is it in UTC?"
//
// The key, if the server wants one, is in OPENAI_API_KEY.

#include "runner/chat/chat_loop_with_tools.hpp"
#include "runner/http/http_transport.hpp"
#include "runner/openai/openai_dialect.hpp"
#include "runner/provider/http_provider.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json/parse.hpp>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace json = boost::json;
namespace runner = agui::runner;
namespace session = agui::session;
using runner::tool_invocation;
using runner::tool_outcome;

asio::awaitable<tool_outcome> get_time(tool_invocation) {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    std::string text(sizeof "2026-01-01T00:00:00Z", '\0');
    text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
    co_return tool_outcome{tool_outcome::kind::result, text};
}

// A model wrote the arguments: they are an object, and nothing else is certain.
asio::awaitable<tool_outcome> add(tool_invocation call) {
    const auto* const a = call.arguments.if_contains("a");
    const auto* const b = call.arguments.if_contains("b");
    if (a == nullptr || b == nullptr || !a->is_number() || !b->is_number()) {
        co_return tool_outcome{tool_outcome::kind::error, "a and b must be numbers"};
    }
    co_return tool_outcome{
        tool_outcome::kind::result, std::to_string(a->to_number<double>() + b->to_number<double>())
    };
}

std::vector<runner::tool_definition> definitions() {
    return {
        {"get_time", "The current time in UTC.", json::parse(R"({"type":"object","properties":{}})")
        },
        {"add", "Adds two numbers.", json::parse(R"({
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"]
        })")}
    };
}

std::unique_ptr<runner::model_provider> make_provider(std::string base_url) {
    auto dialect = runner::make_openai_dialect({});
    runner::http_endpoint endpoint;
    endpoint.base_url = std::move(base_url);
    runner::http_provider_settings settings;
    if (const char* const key = std::getenv("OPENAI_API_KEY")) {
        endpoint.headers.push_back(dialect->key_header(key));
        settings.secrets.emplace_back(key);
    }
    auto client = runner::make_http_client(std::move(endpoint));
    if (!client) {
        throw std::runtime_error("BASE_URL: " + client.error().detail);
    }
    return runner::make_http_provider(std::move(*client), std::move(dialect), std::move(settings));
}

runner::chat_with_tools make_config(const std::string& model) {
    runner::chat_with_tools config;
    config.executors = {{"get_time", get_time}, {"add", add}};
    config.agent.parameters.model = model;
    config.agent.instructions = "Use the tools when they help.";
    config.listeners.content = [](std::string_view text) {
        std::cout << text << std::flush;
    };
    config.listeners.calls = [](const std::vector<session::tool_call>& calls, std::string_view) {
        for (const session::tool_call& call : calls) {
            std::cout << "[" << call.name << " " << call.arguments << "]\n";
        }
    };
    config.listeners.results = [](const std::vector<runner::chat_tool_result>& results) {
        for (const runner::chat_tool_result& each : results) {
            std::cout << "[-> " << session::text_of(each.content) << "]\n";
        }
    };
    return config;
}

int report(const runner::chat_result& ended) {
    const runner::chat_response& response = ended ? *ended : ended.error().so_far;
    std::cout << "\n(" << response.totals.rounds << " rounds, " << response.totals.calls.size()
              << " calls)\n";
    if (!ended) {
        std::cerr << runner::describe(ended.error().reason) << '\n';
        return 1;
    }
    return 0;
}

int run(const std::vector<std::string>& arguments) {
    std::string text;
    for (std::size_t i = 2; i < arguments.size(); ++i) {
        text += (text.empty() ? "" : " ") + arguments[i];
    }
    session::message question;
    question.content = text.empty() ? "What time is it, and what is 17 plus 25?" : text;

    const auto provider = make_provider(arguments[0]);
    asio::io_context context;
    runner::stop_source stop(context.get_executor());
    asio::signal_set interrupt(
        context, SIGINT, SIGTERM
    ); // Ctrl-C ends the answer, not the program.
    interrupt.async_wait([&stop](boost::system::error_code ec, int) {
        if (!ec) {
            (void)stop.request(runner::stop_reason::cancelled);
        }
    });

    std::optional<runner::chat_result> ended;
    std::exception_ptr thrown;
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            ended.emplace(co_await runner::chat_loop_with_tools(
                *provider, {std::move(question)}, definitions(), make_config(arguments[1]), &stop
            ));
        },
        [&](const std::exception_ptr& failed) {
            thrown = failed;
            interrupt.cancel();
        }
    );
    context.run();
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    return report(*ended);
}

} // namespace

int main(int count, char** values) {
    const std::vector<std::string> arguments(values + 1, values + count);
    if (arguments.size() < 2) {
        std::cerr << "usage: chat-loop BASE_URL MODEL [TEXT...]\n";
        return 2;
    }
    try {
        return run(arguments);
    } catch (const std::exception& failed) {
        std::cerr << failed.what() << '\n';
        return 1;
    }
}
