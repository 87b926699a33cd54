#include "gateway/routes/agui_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/runs/run_stream.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/id.hpp"

#include <memory>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

/// A longer value is not passed on: it would be kept, and sent, with each call of the run.
constexpr std::size_t max_passed_header = 4'096;

std::vector<std::pair<std::string, std::string>>
headers_of(const http_request& request, const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, std::string>> headers;
    for (const std::string& name : names) {
        const std::string_view value = request.header(name);
        if (!value.empty() && value.size() <= max_passed_header) {
            headers.emplace_back(name, value);
        }
    }
    return headers;
}

asio::awaitable<handler_reply> start_run(
    run_service& runs, input_parser& parser,
    std::shared_ptr<const std::vector<std::string>> passed_headers, http_request& request
) {
    const std::size_t body_bytes = request.body.size();
    auto input = co_await parser.read(std::move(request.body));
    request.memory.shrink_to(0); // The body is freed before anything waits.
    if (!input) {
        co_return to_reply(input.error());
    }
    check_failpoint("agui.input_read");
    requested_run what;
    what.principal = request.principal;
    if (!request.path_parameters.empty()) {
        what.agent_id = request.path_parameters.front();
    }
    const std::string_view leaving = request.header("x-on-disconnect");
    if (!leaving.empty()) {
        what.on_disconnect = disconnect_policy_from_string(leaving);
        if (!what.on_disconnect) {
            co_return to_reply(failure{
                errc::invalid_input,
                "X-On-Disconnect must be continue, cancel or grace:SECONDS.",
                {},
                {}
            });
        }
    }
    const std::string_view sends = request.header("x-client-history");
    if (!sends.empty()) {
        what.client_history = session::client_history_from_string(sends);
        if (!what.client_history) {
            co_return to_reply(
                failure{errc::invalid_input, "must be auto, full or delta", "X-Client-History"}
            );
        }
    }
    what.idempotency_key = request.header("idempotency-key");
    if (!is_sound_id(what.idempotency_key)) {
        co_return to_reply(failure{
            errc::invalid_input, "must be at most 512 bytes, without control characters",
            "Idempotency-Key"
        });
    }
    run_stream_request stream;
    stream.projection = input->input.projection;
    move_into(what, std::move(*input));
    what.body_bytes = body_bytes;
    what.received = request.received;
    what.headers = headers_of(request, *passed_headers);
    auto accepted = co_await runs.accept(std::move(what));
    if (!accepted) {
        co_return to_reply(accepted.error());
    }
    stream.log = accepted->log;
    const auto begun = co_await runs.begin(std::move(*accepted));
    if (!begun) {
        co_return to_reply(begun.error());
    }
    co_return stream_reply{std::make_unique<run_stream>(std::move(stream))};
}

} // namespace

http_handler
make_agui_route(run_service& runs, input_parser& parser, std::vector<std::string> passed_headers) {
    return [&runs, &parser,
            headers = std::make_shared<const std::vector<std::string>>(std::move(passed_headers)
            )](http_request& request) {
        return start_run(runs, parser, headers, request);
    };
}

} // namespace agui::gateway
