#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/base/memory_budget.hpp"

namespace agui::gateway {

/// GET /agui/threads/{threadId}/runs/{runId}/events: the events of a run after a cursor and, while
/// it is active, its further events (P8). The cursor is the number of the last event that the
/// reader has, 0 for all: `?after=` or the header Last-Event-ID. If both are given, the header
/// takes precedence, because a browser that reconnects repeats the query. `?protocolVersion=`
/// chooses the projection (empty for that of an undeclared peer). The default is the projection of
/// the request that began the run. `?form=chat-stream` gives frames of the chat stream instead, in
/// the mode of `responseMode`, whichever route began the run. The cursor is then the id of the last
/// frame. `budget` counts the frames' memory and may be null; it and `runs` must outlive the
/// handler.
[[nodiscard]] http_handler make_events_route(run_service& runs, memory_budget* budget = nullptr);

} // namespace agui::gateway
