#include "gateway/routes/agui_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/routes/run_headers.hpp"
#include "gateway/runs/run_stream.hpp"
#include "session/base/failpoint.hpp"

#include <memory>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

asio::awaitable<handler_reply> start_run(
    run_service& runs, input_parser& parser,
    std::shared_ptr<const std::vector<std::string>> passed_headers, http_request& request
) {
    const std::size_t body_bytes = request.body.size();
    auto input = co_await parser.read(std::move(request.body), std::move(request.memory));
    if (!input) {
        co_return to_reply(input.error());
    }
    check_failpoint("agui.input_read");
    auto what = read_run_headers(request, *passed_headers);
    if (!what) {
        co_return to_reply(what.error());
    }
    run_stream_request stream;
    stream.projection = input->input.projection;
    move_into(*what, std::move(*input));
    what->body_bytes = body_bytes;
    auto accepted = co_await runs.accept(std::move(*what));
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
