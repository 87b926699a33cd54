#include "gateway/agui_route.hpp"

#include "gateway/http_error.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/id.hpp"

#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

asio::awaitable<handler_reply>
start_run(run_service& runs, const translator::input_limits& limits, http_request& request) {
    auto input = translator::read_run_input(request.body, limits);
    std::string().swap(request.body); // The largest part of the request is not kept while it waits.
    if (!input) {
        co_return to_reply(input.error());
    }
    check_failpoint("agui.input_read");
    run_service::request what;
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
    what.idempotency_key = request.header("idempotency-key");
    if (!is_sound_id(what.idempotency_key)) {
        co_return to_reply(
            failure{errc::invalid_input, "must be at most 512 bytes", "Idempotency-Key", {}}
        );
    }
    stream_reply stream;
    stream.projection = input->projection;
    what.input = std::move(*input);
    auto started = co_await runs.start(std::move(what));
    if (!started) {
        co_return to_reply(started.error());
    }
    stream.log = std::move(*started);
    co_return stream;
}

} // namespace

http_handler make_agui_route(run_service& runs, translator::input_limits limits) {
    return [&runs, limits](http_request& request) {
        return start_run(runs, limits, request);
    };
}

} // namespace agui::gateway
