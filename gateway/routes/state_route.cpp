#include "gateway/routes/state_route.hpp"

#include "gateway/http/http_error.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

asio::awaitable<handler_reply> change_state(
    session::store& store, const clock& time, input_parser& parser, std::uint64_t max_thread_bytes,
    http_request& request
) {
    auto body = co_await parser.read_text(std::move(request.body), std::move(request.memory));
    if (!body) {
        co_return to_reply(body.error());
    }
    if (body->text.view().size() > translator::state_bytes_max) {
        co_return to_reply(translator::state_too_large());
    }
    const session::thread_key key{request.principal, request.path_parameters.at(0)};
    const auto known = co_await store.summary(key);
    if (!known) {
        co_return to_reply(known.error());
    }
    if (*known) {
        const std::uint64_t before = (*known)->documents.state;
        const std::uint64_t wanted = body->text.view().size();
        if (wanted > before && (*known)->bytes - before + wanted > max_thread_bytes) {
            co_return to_reply(failure{
                errc::body_too_large,
                "the thread would have more than " + std::to_string(max_thread_bytes) +
                    " bytes of messages, state, tools and context",
                {},
                {}
            });
        }
    }
    http_reply reply;
    reply.body.reserve(body->text.view().size() + 16);
    reply.body = R"({"state":)";
    reply.body.append(body->text.view());
    reply.body.push_back('}');
    session::changes change;
    change.at = time.now();
    change.state = std::move(body->text);
    session::session_event changed;
    changed.type = "state.changed";
    changed.timestamp = change.at;
    change.events.push_back(std::move(changed));
    const auto done = co_await store.commit(key, std::move(change));
    if (!done) {
        co_return to_reply(done.error());
    }
    co_return reply;
}

} // namespace

route make_state_route(
    session::store& store, const clock& time, input_parser& parser, std::uint64_t max_thread_bytes
) {
    return {
        .method = "PATCH",
        .pattern = "/agui/threads/{threadId}/state",
        .handler = [&store, &time, &parser, max_thread_bytes](http_request& request
                   ) { return change_state(store, time, parser, max_thread_bytes, request); },
        .json = true
    };
}

} // namespace agui::gateway
