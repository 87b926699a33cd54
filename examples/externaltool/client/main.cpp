// An AG-UI client for the command line, with one tool that it executes itself.
//
//   1. POST {threadId T, runId A, messages: [the user's], tools: [change_background]}
//      -> RUN_STARTED, TOOL_CALL_START, TOOL_CALL_ARGS, TOOL_CALL_END, RUN_FINISHED
//   2. the arguments are checked and the tool is executed, here
//   3. POST {threadId T, runId B, messages: [the tool's answer]}
//      -> RUN_STARTED, TEXT_MESSAGE_..., RUN_FINISHED
//
// Exit status: 0 the hand-off completed (the tool was executed, and the run with its answer ended
// in success); 1 it did not; 2 bad usage.

#include "agent_run.hpp"
#include "background.hpp"
#include "event_reader.hpp"
#include "http_client.hpp"

#include <boost/json.hpp>
#include <boost/system/system_error.hpp>

#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace json = boost::json;
using externaltool::agent_run;
using externaltool::call;
using externaltool::endpoint;
using externaltool::gateway_error;

constexpr int max_handoffs = 8; // Bounds a model that never stops calling tools.

constexpr std::string_view usage =
    "usage: externaltool-client [--url http://127.0.0.1:8080/agui] [--message TEXT] [--color-file "
    "FILE]\n"
    "  --url URL          the gateway's /agui\n"
    "  --message TEXT     what the user says (default: make the background blue)\n"
    "  --color-file FILE  is overwritten with the colour when the tool is executed\n";

struct options {
    std::string url = "http://127.0.0.1:8080/agui";
    std::string message = "make the background blue";
    std::optional<std::string> color_file;
};

// Model text must not be able to steer the terminal: control characters (C1 ones, C2 80..9F, too)
// become '?'.
std::string printable(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
        if (byte == 0xC2 && next >= 0x80 && next <= 0x9F) {
            out += '?';
            ++i;
        } else {
            out += (byte < 0x20 && byte != '\n') || byte == 0x7F ? '?' : text[i];
        }
    }
    return out;
}

std::string new_id(std::string_view kind) {
    std::random_device random;
    std::ostringstream out;
    out << kind << '-' << std::hex << std::setfill('0') << std::setw(8) << random() << std::setw(8)
        << random();
    return out.str();
}

// Runs one request to its end and prints its events as they arrive.
agent_run perform(const endpoint& gateway, const json::object& request) {
    const auto body = json::serialize(request);
    std::cout << "POST " << gateway.target << ' ' << printable(body) << std::endl;
    agent_run result;
    externaltool::event_reader events{[&](std::uint64_t sequence, std::string_view data) {
        boost::system::error_code not_json;
        const auto event = json::parse(data, not_json);
        std::cout << std::setw(4) << sequence << ' ' << printable(data) << std::endl;
        if (not_json || !event.is_object()) {
            throw gateway_error{"bad_stream: an event is not a JSON object"};
        }
        take_event(result, event.get_object());
    }};
    const auto reply =
        externaltool::post_json(gateway, body, [&](std::string_view bytes) { events.feed(bytes); });
    if (reply.status != 200) {
        throw gateway_error{externaltool::describe_refusal(reply)};
    }
    // HTTP 200 does not mean success; only a terminal event does.
    if (result.outcome.empty()) {
        throw gateway_error{"bad_stream: it ended before the run did"};
    }
    if (result.outcome != "success") {
        throw gateway_error{
            "not_completed: the run ended as " + result.outcome + ' ' + result.stop_reason
        };
    }
    return result;
}

// Executes a call and returns the tool message that answers it. Every call is answered, if
// necessary with a failure, because the conversation cannot continue while a call is open.
json::object answer(const call& of, const options& given, int& executed) {
    json::object message{
        {"id", new_id("answer")}, {"role", "tool"}, {"toolCallId", of.id}, {"name", of.name}
    };
    try {
        if (of.name != "change_background") {
            throw std::invalid_argument{"this client has no tool named " + of.name};
        }
        const auto color = externaltool::checked_color(of.arguments);
        externaltool::change_background(color, given.color_file);
        message["content"] = json::serialize(json::object{{"status", "ok"}, {"color", color}});
        ++executed;
    } catch (const std::exception& refused) {
        std::cerr << "tool_refused: " << printable(refused.what()) << '\n';
        message["content"] =
            json::serialize(json::object{{"status", "error"}, {"message", refused.what()}});
        message["error"] = refused.what();
    }
    return message;
}

int converse(const options& given, const endpoint& gateway) {
    json::object request{
        {"threadId", new_id("thread")},
        {"runId", new_id("run")},
        {"protocolVersion", "1.1"},
        {"messages", json::array{json::object{
                         {"id", new_id("message")}, {"role", "user"}, {"content", given.message}
                     }}},
        {"tools", json::array{externaltool::background_tool()}},
    };
    int executed = 0;
    for (int handoffs = 0;; ++handoffs) {
        const auto result = perform(gateway, request);
        const auto pending = pending_calls(result);
        if (pending.empty()) {
            std::cout << printable(result.text) << std::endl;
            break;
        }
        if (handoffs == max_handoffs) {
            throw gateway_error{"too_many_handoffs: the model calls tools without end"};
        }
        json::array answers;
        for (const auto& each : pending) {
            answers.push_back(answer(each, given, executed));
        }
        // The second request holds only the tool messages. It has the same thread but a new runId,
        // because a repeated runId means "show me that run once more". Without `tools`, the tools
        // last offered on the thread stay.
        request["runId"] = new_id("run");
        request["messages"] = std::move(answers);
        request.erase("tools");
    }
    if (executed == 0) {
        std::cerr << "no_handoff: change_background was not executed\n";
    }
    return executed > 0 ? 0 : 1;
}

std::optional<options> parse_options(const std::vector<std::string_view>& arguments) {
    options given;
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        if (i + 1 == arguments.size()) {
            return std::nullopt;
        }
        if (arguments[i] == "--url") {
            given.url = arguments[i + 1];
        } else if (arguments[i] == "--message") {
            given.message = arguments[i + 1];
        } else if (arguments[i] == "--color-file") {
            given.color_file = arguments[i + 1];
        } else {
            return std::nullopt;
        }
    }
    return given;
}

} // namespace

int main(int count, char** values) {
    try {
        const std::vector<std::string_view> arguments(values + 1, values + count);
        if (arguments.size() == 1 && arguments[0] == "--help") {
            std::cout << usage;
            return 0;
        }
        const auto given = parse_options(arguments);
        if (!given) {
            std::cerr << usage;
            return 2;
        }
        endpoint gateway;
        try {
            gateway = externaltool::parse_url(given->url);
        } catch (const std::invalid_argument& wrong) {
            std::cerr << "--url: " << wrong.what() << '\n';
            return 2;
        }
        return converse(*given, gateway);
    } catch (const boost::system::system_error& broken) {
        std::cerr << "connection_failed: " << broken.code().message() << '\n';
    } catch (const std::exception& failed) {
        std::cerr << printable(failed.what()) << '\n';
    }
    return 1;
}
