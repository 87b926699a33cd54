#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/id.hpp"
#include "session/store/store.hpp"

namespace agui::gateway {

/// GET /agui and GET /agui/agents/{agentId}, by which a page of TanStack AI is reloaded. `events`
/// is the handler of GET /agui/threads/{threadId}/runs/{runId}/events. All references must outlive
/// the handler.
///
/// - `?threadId=`: `{"messages": [UIMessage], "activeRun": {"runId"} | null, "interrupts":
///   {"runId", "pending"} | null}`. The runId of an active run names its thread, too.
/// - `?runId=&offset=`: the events of that run, from the first one (-1) or after that number. A
///   runId of the client's own is found only while its run is active in this process.
///
/// Source: `fetchServerSentEvents` of the npm package `@tanstack/ai-client`, 0.33.
[[nodiscard]] http_handler make_tanstack_route(
    run_service& runs, session::store& store, heavy_work& heavy, id_source& ids, http_handler events
);

} // namespace agui::gateway
