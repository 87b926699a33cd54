#include "gateway/routes/chat_stream_route.hpp"

#include "gateway/admission/input_digest.hpp"
#include "gateway/http/http_error.hpp"
#include "gateway/log/chat_stream.hpp"
#include "gateway/routes/begin_anywhere.hpp"
#include "gateway/routes/run_headers.hpp"
#include "session/base/failpoint.hpp"
#include "translator/chat_stream/chat_request.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

struct chat_services {
    run_service& runs;
    input_parser& parser;
    id_source& ids;
    memory_budget* budget;
    std::vector<std::string> passed_headers;
};

// The body's value replaces a header of that name.
void pass_workspace_root(
    requested_run& what, const std::vector<std::string>& passed, std::string root
) {
    const std::string name(workspace_root_header);
    std::erase_if(what.headers, [&](const auto& header) { return header.first == name; });
    if (!root.empty() && std::ranges::find(passed, name) != passed.end()) {
        what.headers.emplace_back(name, std::move(root));
    }
}

// The run's failures name members of an AG-UI request.
handler_reply refused(failure error, std::size_t tool_results) {
    if (error.code == errc::run_id_reused && error.path == "runId") {
        error.detail = "this messageId was used before with a different body";
    }
    error.path = translator::chat_path(error.path, tool_results);
    return to_reply(error);
}

// A UUID (version 8, RFC 9562) that is the same for each request of a user under the same key.
std::string session_of_key(std::string_view principal, std::string_view key) {
    const std::string digest = input_digest(std::string(principal) + '\n' + std::string(key));
    return digest.substr(0, 8) + '-' + digest.substr(8, 4) + "-8" + digest.substr(12, 3) + "-8" +
           digest.substr(15, 3) + '-' + digest.substr(18, 12);
}

// A repeat must find the session that the first request made.
std::string session_for(const requested_run& what, const std::string& message_id, id_source& ids) {
    if (!message_id.empty()) {
        return message_id;
    }
    return what.idempotency_key.empty() ? ids.next("session")
                                        : session_of_key(what.principal, what.idempotency_key);
}

// Ids of a request and the form of its answer. Known once it has been parsed.
struct chat {
    chat_stream_request stream;
    std::size_t tool_results = 0;
    std::string thread_id; ///< Made here, or by the gateway that passed the request on.
    std::string run_id;
};

asio::awaitable<result<read_request>>
read_chat(const chat_services& services, http_request& request, chat& about, std::string body) {
    const std::size_t body_bytes = body.size();
    auto read = co_await services.parser.read_chat(
        std::move(body), std::move(request.memory), body_afterwards(services.runs, request)
    );
    if (!read) {
        co_return read.error();
    }
    check_failpoint("chat.input_read");
    auto what = read_run_headers(request, services.passed_headers);
    if (!what) {
        co_return what.error();
    }
    translator::run_input& input = read->run.input;
    if (input.thread_id.empty() && about.thread_id.empty()) {
        about.thread_id = session_for(*what, input.run_id, services.ids);
    }
    if (input.run_id.empty() && about.run_id.empty()) {
        about.run_id = services.ids.next("message");
    }
    input.thread_id = input.thread_id.empty() ? about.thread_id : input.thread_id;
    input.run_id = input.run_id.empty() ? about.run_id : input.run_id;
    about.tool_results = translator::tool_results_of(input);
    about.stream.session_id = input.thread_id;
    about.stream.mode = read->mode;
    read_request out{std::move(*what), std::move(read->run.body)};
    pass_workspace_root(out.what, services.passed_headers, std::move(read->workspace_root));
    move_into(out.what, std::move(read->run));
    out.what.only_new = true;
    out.what.known_model = true;
    out.what.body_bytes = body_bytes;
    co_return out;
}

asio::awaitable<handler_reply>
start_chat(std::shared_ptr<const chat_services> services, http_request& request) {
    chat about;
    if (request.passed != nullptr) {
        about.thread_id = request.passed->thread_id;
        about.run_id = request.passed->run_id;
    }
    auto begun = co_await begin_anywhere(services->runs, request, [&](std::string body) {
        return read_chat(*services, request, about, std::move(body));
    });
    if (auto* why = std::get_if<failure>(&begun)) {
        co_return refused(std::move(*why), about.tool_results);
    }
    if (auto* reply = std::get_if<http_reply>(&begun)) {
        co_return std::move(*reply);
    }
    auto& run = std::get<begun_anywhere>(begun);
    about.stream.log = std::move(run.log);
    about.stream.naming = std::move(run.naming);
    about.stream.message_id = std::move(run.run_id);
    about.stream.budget = services->budget;
    co_return stream_reply{std::make_unique<chat_stream>(about.stream)};
}

} // namespace

http_handler make_chat_stream_route(
    run_service& runs, input_parser& parser, id_source& ids, memory_budget* budget,
    std::vector<std::string> passed_headers
) {
    return [services = std::make_shared<const chat_services>(
                chat_services{runs, parser, ids, budget, std::move(passed_headers)}
            )](http_request& request) {
        return start_chat(services, request);
    };
}

} // namespace agui::gateway
