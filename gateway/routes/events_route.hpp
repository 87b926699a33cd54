#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/runs/run_service.hpp"

namespace agui::gateway {

/// GET /agui/threads/{threadId}/runs/{runId}/events: a run's events from a cursor on, then live
/// (P8). The cursor is the sequence of the last event seen, 0 for all: `?after=`, or the header
/// Last-Event-ID, which counts if both are given, because browsers that reconnect repeat the query.
/// `?protocolVersion=` chooses the projection, an empty one that of an undeclared peer; without it
/// the events come as they went to whoever began the run. `runs` outlives the handler.
[[nodiscard]] http_handler make_events_route(run_service& runs);

} // namespace agui::gateway
