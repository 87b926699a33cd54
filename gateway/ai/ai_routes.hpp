#pragma once

#include "gateway/http/router.hpp"
#include "gateway/routes/agui_route.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/id.hpp"
#include "session/store/store.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace agui::gateway {

/// The services behind the AI SDK's routes. All references must outlive the handlers.
struct ai_parts {
    run_route run; ///< That of POST /agui.
    session::store& store;
    heavy_work& heavy;
    id_source& ids;
    std::size_t max_json_depth = 64;
    http_handler messages; ///< GET /agui/threads/{threadId}/messages
};

/// The routes for `useChat` of the AI SDK, below `base` (`/ai`): its DefaultChatTransport needs
/// nothing but `api: "…/ai/chat"`, or `…/ai/agents/{agentId}/chat` for a named agent. The chat's id
/// is the thread. Source: `HttpChatTransport` of the npm package `ai`, 6.0 and 7.0.
///
/// - POST /chat: a run, as a UI message stream
/// - GET /chat/{id}/stream: the active run of the chat, from the beginning of its UI message; 204
///   if there is none
/// - GET /chat/{id}/messages: `{"messages": [UIMessage]}`
///
/// Refusals are those of the gateway's own routes.
[[nodiscard]] std::vector<route> make_ai_routes(const std::string& base, ai_parts parts);

} // namespace agui::gateway
