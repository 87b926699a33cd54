#include "gateway/routes/claim_route.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/routes/named_thread.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

// A client that executes a call renews its claim well before this. After it, another tab may take
// over from one that was closed.
constexpr std::chrono::milliseconds claim_life{30'000};
constexpr std::size_t holder_bytes_max = 256;
constexpr std::size_t claim_bytes_max = 16U << 10U;

result<std::string> read_holder(std::string_view body) {
    const auto read = parse_json(body);
    if (!read) {
        return failure{errc::invalid_json, "the body is not valid JSON in UTF-8"};
    }
    const json::object* const given = read->if_object();
    const json::value* const holder = given == nullptr ? nullptr : given->if_contains("holder");
    if (holder == nullptr || !holder->is_string() || holder->get_string().empty() ||
        holder->get_string().size() > holder_bytes_max) {
        return failure{errc::invalid_input, "must be a string of 1 to 256 bytes", "holder"};
    }
    return std::string(holder->get_string());
}

// The claim of the request's holder, which is valid for `life` from now on.
asio::awaitable<result<session::call_claim>> claim_for(
    std::chrono::milliseconds life, session::store& store, unix_ms now, session::thread_key key,
    http_request& request
) {
    auto holder = read_holder(request.body);
    if (!holder) {
        co_return holder.error();
    }
    const session::call_claim wanted{
        request.path_parameters.at(1), std::move(*holder), now + life.count()
    };
    auto claimed = co_await store.claim_call(std::move(key), wanted, now);
    if (claimed && claimed->holder != wanted.holder) {
        co_return failure{errc::claimed, "another client executes this call"};
    }
    co_return claimed;
}

asio::awaitable<handler_reply>
claim_call(session::store& store, const clock& time, http_request& request) {
    const auto thread = co_await find_named_thread(store, request, request.path_parameters.at(0));
    if (!thread) {
        co_return to_reply(thread.error());
    }
    const auto claimed = co_await claim_for(claim_life, store, time.now(), thread->key, request);
    if (!claimed) {
        co_return to_reply(claimed.error());
    }
    http_reply reply;
    reply.body = json::serialize(json::object{
        {"toolCallId", claimed->call_id},
        {"holder", claimed->holder},
        {"claimedUntil", claimed->until},
    });
    co_return reply;
}

// A claim that has expired already takes the place of the holder's own.
asio::awaitable<handler_reply>
release_call(session::store& store, const clock& time, http_request& request) {
    const auto thread = co_await find_named_thread(store, request, request.path_parameters.at(0));
    if (!thread) {
        co_return to_reply(thread.error());
    }
    const auto released = co_await claim_for(-claim_life, store, time.now(), thread->key, request);
    if (!released) {
        co_return to_reply(released.error());
    }
    http_reply reply;
    reply.status = 204;
    co_return reply;
}

} // namespace

std::vector<route> make_claim_routes(session::store& store, const clock& time) {
    const auto make = [&](std::string_view method, auto handler) {
        return route{
            .method = method,
            .pattern = "/agui/threads/{threadId}/calls/{callId}/claim",
            .handler = [&store, &time,
                        handler](http_request& request) { return handler(store, time, request); },
            .access = route_access::needs_for_agent_of_thread(scope::run),
            .json = true,
            .max_body_bytes = claim_bytes_max
        };
    };
    return {make("POST", claim_call), make("DELETE", release_call)};
}

} // namespace agui::gateway
