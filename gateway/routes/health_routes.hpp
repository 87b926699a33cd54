#pragma once

#include "gateway/http/http_message.hpp"

#include <boost/json/object.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace agui::gateway {

/// GET /healthz: 200 as long as the process can answer.
[[nodiscard]] http_handler make_health_route();

/// What GET /readyz reports. Called on any I/O thread.
struct readiness {
    std::function<bool()> draining;
    std::function<std::string()> store_unavailable; ///< Returns the reason; see store::unavailable.
    std::function<boost::json::object()> models;    ///< Only for `?detail`.
};

/// Query parameter of GET /readyz that adds the states of the models. It needs the token.
inline constexpr std::string_view detail_parameter = "detail";

/// GET /readyz: 200, or 503 with the reason while draining or while the store is unavailable, so
/// that a load balancer sends no more requests. With `?detail`, the body has the member `models`,
/// which does not change the status.
[[nodiscard]] http_handler make_ready_route(readiness now);

/// GET /version: the program's name and version.
[[nodiscard]] http_handler make_version_route();

} // namespace agui::gateway
