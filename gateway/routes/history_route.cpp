#include "gateway/routes/history_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/log/run_stream.hpp"
#include "gateway/routes/accepted_form.hpp"
#include "gateway/routes/named_thread.hpp"

#include <memory>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

asio::awaitable<handler_reply>
show_history(run_service& runs, input_parser& parser, bool follow, http_request& request) {
    auto input = co_await parser.read(std::move(request.body), std::move(request.memory));
    if (!input) {
        co_return to_reply(input.error());
    }
    input->input.forwarded.follow = follow || input->input.forwarded.follow;
    const auto thread =
        co_await find_named_thread(runs.services().store, request, input->input.thread_id);
    if (!thread) {
        co_return to_reply(thread.error());
    }
    auto recorded =
        co_await runs.history(thread->key, input->input, key_for_links(*thread, request));
    if (!recorded) {
        co_return to_reply(recorded.error());
    }
    run_stream_request stream;
    stream.form = &accepted_form(request);
    stream.projection = input->input.projection;
    stream.log = std::move(recorded->log);
    stream.next = std::move(recorded->live);
    stream.next_offset = recorded->live_offset;
    stream.naming = naming_for(runs, *thread, request);
    co_return stream_reply{std::make_unique<run_stream>(std::move(stream))};
}

} // namespace

http_handler make_history_route(run_service& runs, input_parser& parser) {
    return [&runs, &parser](http_request& request) {
        return show_history(runs, parser, false, request);
    };
}

http_handler make_following_route(run_service& runs, input_parser& parser) {
    return [&runs, &parser](http_request& request) {
        return show_history(runs, parser, true, request);
    };
}

} // namespace agui::gateway
