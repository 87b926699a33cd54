#pragma once

#include "gateway/copilotkit/copilotkit_threads.hpp"
#include "gateway/http/router.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/base/heavy_work.hpp"
#include "session/store/store.hpp"

#include <boost/json/object.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace agui::gateway {

/// The services and handlers that CopilotKit's routes use. All references must outlive the
/// handlers.
struct copilotkit_parts {
    run_service& runs;
    session::store& store;
    heavy_work& heavy;
    std::size_t max_json_depth = 64;
    http_handler run;     ///< POST /agui/agents/{agentId}
    http_handler suggest; ///< make_suggestions_route()
    http_handler connect; ///< make_following_route()
    own_thread_routes threads;
    /// For each agent, by id: `{"name", "className", "description", "capabilities"}`.
    boost::json::object agents;
};

/// The routes that CopilotKit's browser libraries expect of their own runtime, below `base`
/// (`/copilotkit`): a page whose `runtimeUrl` is this path needs no other server. Source: the
/// released packages @copilotkit/core 1.74 and @copilotkit/runtime 1.75.
///
/// - GET /info: the agents and what the server offers
/// - POST /agent/{agentId}/run, /connect (the conversation, then the active run), /suggest
///   (nothing is stored), /stop/{threadId}
/// - the threads (make_copilotkit_thread_routes)
/// - POST on the base itself ("single mode"): the same as an envelope
///   `{"method", "params"?, "body"?}`
///
/// Refusals are in the form of to_reply() or of copilotkit_error(). The router must be given
/// as_copilotkit_error() as the refusal_form of `base`.
[[nodiscard]] std::vector<route>
make_copilotkit_routes(const std::string& base, copilotkit_parts parts);

} // namespace agui::gateway
