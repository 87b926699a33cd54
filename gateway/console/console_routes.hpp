#pragma once

#include "gateway/console/kept_requests.hpp"
#include "gateway/http/router.hpp"

#include <vector>

namespace agui::gateway {

/// The console:
///
/// - GET /console/…: its page, served by `pages`, and open like every page
/// - GET /console/requests: what was sent to model servers, the newest first, without the bodies:
///   `{"requests":[{number, threadId, runId, model, asked, at, endedAt?, outcome, usage?, bytes,
///   kept}]}`; ?threadId
/// - GET /console/requests/{number}: one of them, and `body` with its JSON as a text, or null if it
///   was too large to keep
///
/// `requests` must outlive the handlers.
[[nodiscard]] std::vector<route>
make_console_routes(const kept_requests& requests, const http_handler& pages);

} // namespace agui::gateway
