#pragma once

#include "gateway/http/http_message.hpp"

#include <boost/json/object.hpp>

#include <functional>
#include <map>
#include <string>

namespace agui::gateway {

/// GET /agui/capabilities and GET /agui/agents/{agentId}/capabilities: the AgentCapabilities of the
/// default agent or of that one; 404 if there is no such agent.
[[nodiscard]] http_handler make_capabilities_route(
    const std::map<std::string, boost::json::object, std::less<>>& by_agent,
    const std::string& default_agent
);

} // namespace agui::gateway
