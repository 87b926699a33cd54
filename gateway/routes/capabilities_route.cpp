#include "gateway/routes/capabilities_route.hpp"

#include "gateway/http/http_error.hpp"
#include "session/base/error.hpp"

#include <boost/json/serialize.hpp>

#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

http_handler make_capabilities_route(
    const std::map<std::string, boost::json::object, std::less<>>& by_agent,
    const std::string& default_agent
) {
    std::map<std::string, std::string, std::less<>> bodies;
    for (const auto& [agent, capabilities] : by_agent) {
        bodies.emplace(agent, boost::json::serialize(capabilities));
    }
    return [bodies = std::move(bodies),
            default_agent](http_request& request) -> asio::awaitable<handler_reply> {
        const auto& parameters = request.path_parameters;
        const auto found = bodies.find(parameters.empty() ? default_agent : parameters.front());
        if (found == bodies.end()) {
            co_return to_reply(failure{errc::not_found, "there is no such agent", {}, {}});
        }
        http_reply reply;
        reply.body = found->second;
        co_return reply;
    };
}

} // namespace agui::gateway
