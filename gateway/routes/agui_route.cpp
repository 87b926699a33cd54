#include "gateway/routes/agui_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/log/run_stream.hpp"
#include "gateway/routes/accepted_form.hpp"
#include "gateway/routes/begin_anywhere.hpp"
#include "gateway/routes/run_headers.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

asio::awaitable<result<read_request>> read_run(
    const run_route& route, http_request& request, translator::projection& projection,
    std::string body
) {
    const std::size_t body_bytes = body.size();
    auto input = co_await route.parser.read(
        std::move(body), std::move(request.memory), body_afterwards(route.runs, request)
    );
    if (!input) {
        co_return input.error();
    }
    if (route.is_for_suggestions && !input->input.is_for_suggestions) {
        co_return failure{
            errc::invalid_input, "must hold copilotkitSuggest alone, which toolChoice demands",
            "tools"
        };
    }
    check_failpoint("agui.input_read");
    auto what = read_run_headers(request, route.passed_headers);
    if (!what) {
        co_return what.error();
    }
    projection = input->input.projection;
    read_request read{std::move(*what), std::move(input->body)};
    move_into(read.what, std::move(*input));
    read.what.body_bytes = body_bytes;
    co_return read;
}

asio::awaitable<handler_reply>
start_run(std::shared_ptr<const run_route> route, http_request& request) {
    run_stream_request stream;
    stream.form = &accepted_form(request);
    auto begun = co_await begin_agui_run(*route, request, stream.projection);
    if (const auto* refused = std::get_if<failure>(&begun)) {
        co_return to_reply(*refused);
    }
    if (auto* reply = std::get_if<http_reply>(&begun)) {
        co_return std::move(*reply);
    }
    begun_anywhere& run = std::get<begun_anywhere>(begun);
    stream.log = std::move(run.log);
    stream.naming = std::move(run.naming);
    stream.offset = session::first_number(run.run_id);
    co_return stream_reply{std::make_unique<run_stream>(std::move(stream))};
}

http_handler make_route(run_route route) {
    return [made = std::make_shared<const run_route>(std::move(route))](http_request& request) {
        return start_run(made, request);
    };
}

} // namespace

asio::awaitable<std::variant<begun_anywhere, failure, http_reply>>
begin_agui_run(const run_route& route, http_request& request, translator::projection& projection) {
    co_return co_await begin_anywhere(route.runs, request, [&](std::string body) {
        return read_run(route, request, projection, std::move(body));
    });
}

http_handler
make_agui_route(run_service& runs, input_parser& parser, std::vector<std::string> passed_headers) {
    return make_route({runs, parser, std::move(passed_headers), false});
}

http_handler make_suggestions_route(
    run_service& runs, input_parser& parser, std::vector<std::string> passed_headers
) {
    return make_route({runs, parser, std::move(passed_headers), true});
}

} // namespace agui::gateway
