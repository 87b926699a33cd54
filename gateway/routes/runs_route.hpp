#pragma once

#include "gateway/http/router.hpp"
#include "gateway/runs/run_service.hpp"

#include <vector>

namespace agui::gateway {

/// The active runs of all principals, for scope::admin:
///
/// - `GET /agui/runs`: those of this gateway, oldest first: `{"runs": [{"handle", "tenant", "user",
///   "threadId", "runId", "agentId", "startedAt", "ephemeral"?, "readers"}]}`
/// - `DELETE /agui/runs/{handle}`: ends the run as POST /agui/cancel does, in any gateway, and
///   answers like it. `handle` is one from a list of any gateway: it names the principal, the
///   thread and the run. 404 for another text.
///
/// `runs` must outlive the handlers.
[[nodiscard]] std::vector<route> make_runs_routes(run_service& runs);

} // namespace agui::gateway
