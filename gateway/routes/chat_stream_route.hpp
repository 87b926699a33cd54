#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/base/id.hpp"
#include "session/base/memory_budget.hpp"

#include <string>
#include <vector>

namespace agui::gateway {

/// The header in which tools that list it get a request's `workspaceRoot`.
inline constexpr std::string_view workspace_root_header = "x-workspace-root";

/// POST /chat/stream and POST /chat/agents/{agentId}/stream: starts a run, or attaches to the one
/// that the request repeats, and answers with its frames (translator/README.md). `sessionId` is the
/// thread, `messageId` the run; a missing session id is taken from the messageId or derived from
/// the Idempotency-Key; other missing ids come from `ids`. Headers as for make_agui_route(), but
/// the client always sends only new messages. `budget` may be null. All references must outlive the
/// handler.
[[nodiscard]] http_handler make_chat_stream_route(
    run_service& runs, input_parser& parser, id_source& ids, memory_budget* budget,
    std::vector<std::string> passed_headers = {}
);

} // namespace agui::gateway
