#pragma once

#include "gateway/http/router.hpp"
#include "gateway/run/part_links.hpp"
#include "gateway/runs/thread_removal.hpp"
#include "session/base/clock.hpp"
#include "session/base/heavy_work.hpp"
#include "session/store/store.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace agui::gateway {

/// The threads of a principal over HTTP, below /agui/threads:
///
/// - GET: a page of them, the last changed first; ?agentId, ?archived, ?limit, ?cursor
/// - GET /{id}: title, archived, agentId, metadata?, createdAt, updatedAt, lastRunAt, activeRunId?
/// - PATCH /{id}: changes title, archived, metadata (null clears it)
/// - DELETE /{id}: removes it with its runs, logs and session events; 409 thread_busy while a run
/// is active
/// - GET /{id}/messages: messages_route.hpp
/// - GET /{id}/events: the session events; ?after, ?limit
/// - GET /{id}/state: the AG-UI state document
/// - GET /{id}/pending: the calls that wait for an answer from the application, those that a client
///   has claimed (make_claim_route()) with `claimedUntil`, and the interrupts
///   of the head branch, which wait for an approval (session::open_approvals)
/// - GET /{id}/branches
///
/// For an unknown thread the answer is 404, except that its messages are an empty list. `store`,
/// `links`, `time` and `heavy` must outlive the handlers. `forget` is called for a thread that is
/// removed.
[[nodiscard]] std::vector<route> make_thread_routes(
    session::store& store, const part_links& links, const clock& time, std::size_t max_json_depth,
    heavy_work& heavy, std::chrono::seconds approval_life, forget_thread_function forget
);

} // namespace agui::gateway
