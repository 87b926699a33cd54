#include "gateway/history_route.hpp"

#include "gateway/http_error.hpp"

#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

asio::awaitable<handler_reply>
show_history(run_service& runs, const translator::input_limits& limits, http_request& request) {
    const auto input = translator::read_run_input(request.body, limits);
    if (!input) {
        co_return to_reply(input.error());
    }
    auto recorded = co_await runs.history(request.principal, *input);
    if (!recorded) {
        co_return to_reply(recorded.error());
    }
    stream_reply stream;
    stream.projection = input->projection;
    stream.log = std::move(recorded->log);
    stream.next = std::move(recorded->live);
    co_return stream;
}

} // namespace

http_handler make_history_route(run_service& runs, translator::input_limits limits) {
    return [&runs, limits](http_request& request) {
        return show_history(runs, limits, request);
    };
}

} // namespace agui::gateway
