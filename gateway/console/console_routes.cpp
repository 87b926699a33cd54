#include "gateway/console/console_routes.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/http/query.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

json::object usage_json(const runner::token_usage& usage) {
    json::object out;
    const auto add = [&out](std::string_view name, std::optional<std::int64_t> count) {
        if (count) {
            out[name] = *count;
        }
    };
    add("inputTokens", usage.input_tokens);
    add("outputTokens", usage.output_tokens);
    add("reasoningTokens", usage.reasoning_tokens);
    add("cachedInputTokens", usage.cached_input_tokens);
    add("cacheWriteInputTokens", usage.cache_write_input_tokens);
    return out;
}

json::object request_json(const kept_request& request) {
    json::object out{{"number", request.number},   {"threadId", request.thread_id},
                     {"runId", request.run_id},    {"model", request.model},
                     {"asked", request.asked},     {"at", request.at},
                     {"outcome", request.outcome}, {"bytes", request.bytes},
                     {"kept", bool(request.body)}};
    if (request.ended_at) {
        out["endedAt"] = *request.ended_at;
    }
    if (request.usage) {
        out["usage"] = usage_json(*request.usage);
    }
    return out;
}

asio::awaitable<handler_reply> list_requests(const kept_requests& requests, http_request& request) {
    const auto query = parse_query(request.query);
    if (!query) {
        co_return to_reply(query.error());
    }
    const std::string* const thread = query->find("threadId");
    json::array list;
    for (const kept_request& each : requests.list(thread == nullptr ? "" : *thread)) {
        list.push_back(request_json(each));
    }
    http_reply reply;
    reply.body = json::serialize(json::object{{"requests", std::move(list)}});
    co_return reply;
}

asio::awaitable<handler_reply> show_request(const kept_requests& requests, http_request& request) {
    const std::string& text = request.path_parameters.at(0);
    std::uint64_t number = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = problem == std::errc{} && end == text.data() + text.size();
    const auto found = is_number ? requests.find(number) : std::nullopt;
    if (!found) {
        co_return to_reply(http_errc::not_found, "There is no such request, or no longer.");
    }
    json::object out = request_json(*found);
    out["body"] = found->body ? json::value(*found->body) : json::value();
    http_reply reply;
    reply.body = json::serialize(out);
    co_return reply;
}

} // namespace

std::vector<route> make_console_routes(const kept_requests& requests, const http_handler& pages) {
    return {
        {.method = "GET",
         .pattern = "/console/requests",
         .handler = [&requests](http_request& request) { return list_requests(requests, request); },
         .access = route_access::needs(scope::admin)},
        {.method = "GET",
         .pattern = "/console/requests/{number}",
         .handler = [&requests](http_request& request) { return show_request(requests, request); },
         .access = route_access::needs(scope::admin),
         .large_reply = true},
        {.method = "GET", .pattern = "/console", .handler = pages, .access = route_access::open()},
        {.method = "GET", .pattern = "/console/*", .handler = pages, .access = route_access::open()
        },
    };
}

} // namespace agui::gateway
