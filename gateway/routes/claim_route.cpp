#include "gateway/routes/claim_route.hpp"

#include "gateway/http/http_error.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <chrono>
#include <cstddef>
#include <string>
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

asio::awaitable<handler_reply>
claim_call(session::store& store, const clock& time, http_request& request) {
    auto holder = read_holder(request.body);
    if (!holder) {
        co_return to_reply(holder.error());
    }
    const unix_ms now = time.now();
    const session::thread_key key{request.principal, request.path_parameters.at(0)};
    const session::call_claim wanted{
        request.path_parameters.at(1), std::move(*holder), now + claim_life.count()
    };
    const auto claimed = co_await store.claim_call(key, wanted, now);
    if (!claimed) {
        co_return to_reply(claimed.error());
    }
    if (claimed->holder != wanted.holder) {
        co_return to_reply(failure{errc::claimed, "another client executes this call"});
    }
    http_reply reply;
    reply.body = json::serialize(json::object{
        {"toolCallId", claimed->call_id},
        {"holder", claimed->holder},
        {"claimedUntil", claimed->until},
    });
    co_return reply;
}

} // namespace

route make_claim_route(session::store& store, const clock& time) {
    return {
        .method = "POST",
        .pattern = "/agui/threads/{threadId}/calls/{callId}/claim",
        .handler = [&store,
                    &time](http_request& request) { return claim_call(store, time, request); },
        .json = true,
        .max_body_bytes = claim_bytes_max
    };
}

} // namespace agui::gateway
