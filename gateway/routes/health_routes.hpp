#pragma once

#include "gateway/http/http_message.hpp"

#include <functional>
#include <string>

namespace agui::gateway {

/// GET /healthz: 200 as long as the process can answer.
[[nodiscard]] http_handler make_health_route();

/// GET /readyz: 200, or 503 with the reason once `draining` returns true or while
/// `store_unavailable` returns a reason (store::unavailable), so that a load balancer sends no more
/// requests.
[[nodiscard]] http_handler
make_ready_route(std::function<bool()> draining, std::function<std::string()> store_unavailable);

/// GET /version: the program's name and version.
[[nodiscard]] http_handler make_version_route();

} // namespace agui::gateway
