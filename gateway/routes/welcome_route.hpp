#pragma once

#include "gateway/http/router.hpp"

#include <string>

namespace agui::gateway {

/// GET / for a browser, where nothing else serves pages: says what answers here, and where to go
/// on. `copilotkit_path` is named if it is not empty, and the console if it is on. Every other
/// path, and a request that does not name HTML, gets the 404 of a path without a route. To be put
/// after all other routes.
[[nodiscard]] route make_welcome_route(const std::string& copilotkit_path, bool console);

} // namespace agui::gateway
