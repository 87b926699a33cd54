#pragma once

#include "gateway/http/router.hpp"
#include "gateway/quota/quotas.hpp"

namespace agui::gateway {

/// GET /agui/usage: what the caller has used in this day and month, its limits, and when they begin
/// anew (quotas::report()). The quotas must outlive the handler.
[[nodiscard]] route make_usage_route(quotas& limits);

} // namespace agui::gateway
