#pragma once

#include "gateway/http/http_message.hpp"

#include <functional>

namespace agui::gateway {

/// GET /healthz: 200 as long as the process can answer.
[[nodiscard]] http_handler make_health_route();

/// GET /readyz: 200, or 503 once `draining` returns true, so that a load balancer sends no more
/// requests.
[[nodiscard]] http_handler make_ready_route(std::function<bool()> draining);

/// GET /version: the program's name and version.
[[nodiscard]] http_handler make_version_route();

} // namespace agui::gateway
