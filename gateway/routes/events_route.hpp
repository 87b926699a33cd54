#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/runs/run_service.hpp"

namespace agui::gateway {

/// GET /agui/threads/{threadId}/runs/{runId}/events: a run's stored events after a cursor, then the
/// live ones (P8). The cursor is the sequence number of the last event seen, 0 for all: `?after=`
/// or the header Last-Event-ID. If both are given the header counts, because reconnecting browsers
/// repeat the query. `?protocolVersion=` chooses the projection (empty: that of an undeclared
/// peer); without it the projection is that of the request that began the run. `runs` must outlive
/// the handler.
[[nodiscard]] http_handler make_events_route(run_service& runs);

} // namespace agui::gateway
