#include "gateway/routes/health_routes.hpp"

#include "gateway/http/query.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

// A handler must return an awaitable, even if it waits for nothing.
asio::awaitable<handler_reply> answer(int status, std::string body) {
    http_reply reply;
    reply.status = status;
    reply.body = std::move(body);
    co_return reply;
}

} // namespace

http_handler make_health_route() {
    return [](http_request&) {
        return answer(200, R"({"status":"ok"})");
    };
}

http_handler make_ready_route(readiness now) {
    return [now = std::move(now)](http_request& request) {
        boost::json::object body{{"status", "ok"}};
        int status = 503;
        if (now.draining()) {
            body["status"] = "draining";
        } else if (const std::string reason = now.store_unavailable(); !reason.empty()) {
            body["status"] = "store_unavailable";
            body["reason"] = reason;
        } else {
            status = 200;
        }
        if (has_parameter(request.query, detail_parameter)) {
            body["models"] = now.models();
        }
        return answer(status, boost::json::serialize(body));
    };
}

http_handler make_version_route() {
    return [](http_request&) {
        return answer(200, R"({"name":"agui-gateway","version":")" AGUI_VERSION R"("})");
    };
}

} // namespace agui::gateway
