#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/base/memory_budget.hpp"

namespace agui::gateway {

/// GET /agui/threads/{threadId}/runs/{runId}/events: the events of a run after a cursor and, while
/// it is active, those to come (P8). The cursor is the number of the last event that the reader
/// has, 0 for all: `?after=` or the header Last-Event-ID. If both are given the header counts,
/// because a browser that reconnects repeats the query. `?protocolVersion=` chooses the projection
/// (empty: that of an undeclared peer); without it, it is that of the request that began the run.
/// `?form=chat-stream` gives the frames of the chat stream instead, as `responseMode` says,
/// whatever the run was begun with; the cursor is then the id of the last frame. `budget` counts
/// their memory and may be null; it and `runs` must outlive the handler.
[[nodiscard]] http_handler make_events_route(run_service& runs, memory_budget* budget = nullptr);

} // namespace agui::gateway
