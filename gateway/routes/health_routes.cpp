#include "gateway/routes/health_routes.hpp"

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

http_handler
make_ready_route(std::function<bool()> draining, std::function<std::string()> store_unavailable) {
    return [draining = std::move(draining),
            store_unavailable = std::move(store_unavailable)](http_request&) {
        if (draining()) {
            return answer(503, R"({"status":"draining"})");
        }
        const std::string reason = store_unavailable();
        if (reason.empty()) {
            return answer(200, R"({"status":"ok"})");
        }
        return answer(
            503, boost::json::serialize(
                     boost::json::object{{"status", "store_unavailable"}, {"reason", reason}}
                 )
        );
    };
}

http_handler make_version_route() {
    return [](http_request&) {
        return answer(200, R"({"name":"agui-gateway","version":")" AGUI_VERSION R"("})");
    };
}

} // namespace agui::gateway
