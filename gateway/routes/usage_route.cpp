#include "gateway/routes/usage_route.hpp"

#include "gateway/http/http_error.hpp"

#include <boost/json/serialize.hpp>

namespace agui::gateway {

namespace asio = boost::asio;

namespace {

asio::awaitable<handler_reply> report_usage(quotas& limits, http_request& request) {
    const auto found = co_await limits.report({request.principal(), request.address.counted});
    if (!found) {
        co_return to_reply(found.error());
    }
    http_reply reply;
    reply.body = boost::json::serialize(*found);
    co_return reply;
}

} // namespace

route make_usage_route(quotas& limits) {
    return {
        .method = "GET",
        .pattern = "/agui/usage",
        .handler = [&limits](http_request& request) { return report_usage(limits, request); },
        .access = route_access::needs(scope::read)
    };
}

} // namespace agui::gateway
