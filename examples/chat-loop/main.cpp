// A conversation with a model server from the command line, without a gateway: the agent loop as a
// library, with two tools. shortest.cpp is the least that a program needs.
//
// usage: chat-loop BASE_URL MODEL [TEXT...]
//        chat-loop http://127.0.0.1:8081/v1 llama "What time is it in UTC?"
//
// The key, if the server wants one, is in OPENAI_API_KEY.

#include "runner/chat/chat_loop_with_tools.hpp"
#include "runner/openai/openai_model.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace runner = agui::runner;
namespace session = agui::session;

std::string get_time() {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    std::string text(sizeof "2026-01-01T00:00:00Z", '\0');
    text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
    return text;
}

// The tools, each with its function, whose parameters define the arguments that the model must
// give.
std::vector<runner::server_tool> tools() {
    return {
        runner::tool("get_time", "The current time in UTC.", get_time),
        runner::tool(
            "add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; }
        )
    };
}

runner::owned_model make_model(const std::string& url, const std::string& model) {
    const char* const key = std::getenv("OPENAI_API_KEY");
    return runner::openai_model({.url = url, .model = model, .key = key == nullptr ? "" : key});
}

runner::chat_with_tools make_config() {
    runner::chat_with_tools config;
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
    const runner::chat_totals& totals = ended ? ended->totals : ended.error().so_far.totals;
    std::cout << "\n(" << totals.rounds << " rounds, " << totals.calls.size() << " calls, "
              << totals.usage_total().output_tokens.value_or(0) << " tokens of answers)\n";
    if (!ended) {
        std::cerr << ended.error().text() << '\n';
        return 1;
    }
    return 0;
}

int run(const std::vector<std::string>& arguments) {
    std::string text;
    for (std::size_t i = 2; i < arguments.size(); ++i) {
        text += (text.empty() ? "" : " ") + arguments[i];
    }
    if (text.empty()) {
        text = "What time is it, and what is 17 plus 25?";
    }

    asio::io_context context;
    runner::stop_source stop(context.get_executor());
    // Ctrl-C ends the answer, not the program.
    asio::signal_set interrupt(context, SIGINT, SIGTERM);
    interrupt.async_wait([&stop](boost::system::error_code ec, int) {
        if (!ec) {
            (void)stop.request(runner::stop_reason::cancelled);
        }
    });

    std::optional<runner::chat_result> ended;
    std::exception_ptr thrown;
    asio::co_spawn(
        context,
        runner::chat_loop_with_tools(
            make_model(arguments[0], arguments[1]), {runner::user(text)}, tools(), make_config(),
            &stop
        ),
        [&](std::exception_ptr failed, runner::chat_result result) {
            thrown = std::move(failed);
            ended.emplace(std::move(result));
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
