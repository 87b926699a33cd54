#pragma once

#include "gateway/http/router.hpp"
#include "session/base/clock.hpp"
#include "session/store/store.hpp"

#include <cstddef>
#include <vector>

namespace agui::gateway {

/// The thread store over HTTP, below /agui/threads:
///
/// - GET /: a page of the principal's threads, newest first: ?agentId, ?archived, ?limit, ?cursor
/// - GET /{id}: title, archived, agentId, metadata, createdAt, updatedAt, lastRunAt, activeRunId?
/// - PATCH /{id}: title, archived, metadata (null clears it)
/// - DELETE /{id}: with its runs, logs and journal; 409 thread_busy while a run is active
/// - GET /{id}/messages: of the head branch, or ?branch=N; ?protocolVersion chooses their form
/// - GET /{id}/events: the journal: ?after, ?limit
/// - GET /{id}/state: the AG-UI state document
/// - GET /{id}/pending: calls that wait for an answer of the application
/// - GET /{id}/branches
///
/// If the principal has no such thread: 404, but its messages are an empty list. `store` and `time`
/// must outlive the handlers.
[[nodiscard]] std::vector<route>
make_thread_routes(session::store& store, const clock& time, std::size_t max_json_depth);

} // namespace agui::gateway
