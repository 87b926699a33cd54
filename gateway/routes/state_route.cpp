#include "gateway/routes/state_route.hpp"

#include "gateway/http/http_error.hpp"
#include "translator/agui/event_writer.hpp"
#include "translator/input/run_input.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

asio::awaitable<handler_reply> change_state(
    session::store& store, const clock& time, std::size_t max_json_depth, memory_budget* budget,
    http_request& request
) {
    auto body = translator::parse_body(request.body, max_json_depth, budget);
    std::string().swap(request.body);
    if (!body) {
        co_return to_reply(body.error());
    }
    http_reply reply;
    reply.body = R"({"state":)";
    translator::append_json(reply.body, *body);
    reply.body.push_back('}');
    session::changes change;
    change.at = time.now();
    change.state = std::move(*body);
    session::session_event changed;
    changed.type = "state.changed";
    changed.timestamp = change.at;
    change.events.push_back(std::move(changed));
    const auto done = co_await store.commit(
        {request.principal, request.path_parameters.at(0)}, std::move(change)
    );
    if (!done) {
        co_return to_reply(done.error());
    }
    co_return reply;
}

} // namespace

route make_state_route(
    session::store& store, const clock& time, std::size_t max_json_depth, memory_budget* budget
) {
    return {
        .method = "PATCH",
        .pattern = "/agui/threads/{threadId}/state",
        .handler = [&store, &time, max_json_depth, budget](http_request& request
                   ) { return change_state(store, time, max_json_depth, budget, request); },
        .json = true
    };
}

} // namespace agui::gateway
