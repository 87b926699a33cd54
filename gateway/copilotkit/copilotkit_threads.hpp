#pragma once

#include "gateway/http/router.hpp"
#include "session/base/heavy_work.hpp"
#include "session/store/store.hpp"

#include <string>
#include <vector>

namespace agui::gateway {

/// The gateway's own routes for one thread, whose path has one parameter, the thread's id.
struct own_thread_routes {
    http_handler change;   ///< PATCH /agui/threads/{threadId}
    http_handler remove;   ///< DELETE /agui/threads/{threadId}
    http_handler messages; ///< GET /agui/threads/{threadId}/messages
    http_handler state;    ///< GET /agui/threads/{threadId}/state
};

/// The threads as CopilotKit's pages and its inspector read and change them, below `base`:
///
/// - GET /threads: ?agentId, ?includeArchived, ?limit, ?cursor; all archived ones come last
/// - PATCH /threads/{id} `{"name"}` or `{"archived"}`, POST /threads/{id}/archive,
///   DELETE /threads/{id}
/// - GET /threads/{id}/messages, with flat calls; GET /threads/{id}/state
/// - GET /threads/{id}/events: the thread as MESSAGES_SNAPSHOT and STATE_SNAPSHOT
///
/// Source: the released packages @copilotkit/core 1.74 and @copilotkit/runtime 1.75. `store` and
/// `heavy`, on which large threads are written, must outlive the handlers.
[[nodiscard]] std::vector<route> make_copilotkit_thread_routes(
    const std::string& base, session::store& store, heavy_work& heavy, own_thread_routes own
);

} // namespace agui::gateway
