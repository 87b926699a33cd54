#pragma once

#include "gateway/http/http_message.hpp"

#include <functional>

namespace agui::gateway {

/// GET /healthz: 200 while the process can answer at all.
[[nodiscard]] http_handler make_health_route();

/// GET /readyz: 200, or 503 as soon as `draining` says so, so that a balancer sends nothing new.
[[nodiscard]] http_handler make_ready_route(std::function<bool()> draining);

/// GET /version: the program's name and version.
[[nodiscard]] http_handler make_version_route();

} // namespace agui::gateway
