#include "gateway/routes/chat_stream_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/routes/run_headers.hpp"
#include "gateway/runs/chat_stream.hpp"
#include "gateway/runs/input_digest.hpp"
#include "session/base/failpoint.hpp"
#include "translator/chat_stream/chat_request.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

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

// The body's value counts, not what a header of that name says.
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

asio::awaitable<handler_reply>
start_chat(std::shared_ptr<const chat_services> services, http_request& request) {
    const std::size_t body_bytes = request.body.size();
    auto read =
        co_await services->parser.read_chat(std::move(request.body), std::move(request.memory));
    if (!read) {
        co_return to_reply(read.error());
    }
    check_failpoint("chat.input_read");
    auto what = read_run_headers(request, services->passed_headers);
    if (!what) {
        co_return to_reply(what.error());
    }
    translator::run_input& input = read->run.input;
    if (input.thread_id.empty()) {
        input.thread_id = session_for(*what, input.run_id, services->ids);
    }
    if (input.run_id.empty()) {
        input.run_id = services->ids.next("message");
    }
    const std::size_t results = translator::tool_results_of(input);
    chat_stream_request stream;
    stream.session_id = input.thread_id;
    stream.mode = read->mode;
    stream.budget = services->budget;
    pass_workspace_root(*what, services->passed_headers, std::move(read->workspace_root));
    move_into(*what, std::move(read->run));
    what->only_new = true;
    what->known_model = true;
    what->body_bytes = body_bytes;
    auto accepted = co_await services->runs.accept(std::move(*what));
    if (!accepted) {
        co_return refused(accepted.error(), results);
    }
    stream.log = accepted->log;
    stream.message_id = accepted->run_id;
    const auto begun = co_await services->runs.begin(std::move(*accepted));
    if (!begun) {
        co_return refused(begun.error(), results);
    }
    co_return stream_reply{std::make_unique<chat_stream>(stream)};
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
