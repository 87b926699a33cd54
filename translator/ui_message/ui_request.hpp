#pragma once

#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "translator/ui_message/ui_stream.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::translator {

/// A request of the AI SDK as one for POST /agui.
struct ui_request {
    std::string thread_id; ///< The chat's id.
    std::string body;      ///< A RunAgentInput, as JSON.
    ui_stream_start start;
};

/// Reads `{"id", "messages": [UIMessage], "trigger"?, "messageId"?}` or, in place of `messages`,
/// one `message`. Members that it has in common with RunAgentInput are passed on as they are:
/// `tools`, `context`, `state`, `forwardedProps`, `resume`; others are ignored.
///
/// - A user message keeps its texts and files.
/// - An assistant message becomes one message for each of its steps, and a tool message for each
///   result of a call. Calls that the server has executed are left out: it has their results.
/// - Answers to approvals in the message that the request continues become entries of `resume`.
///
/// The run gets the id `run_id`, because the AI SDK names none. `budget` (may be null) counts the
/// memory for reading, but not the result. Failures: invalid_json and overloaded (parse_json),
/// invalid_input with the `path` of the member.
///
/// Source: `HttpChatTransport` and `UIMessage` of the npm package `ai`, 6.0 and 7.0.
[[nodiscard]] result<ui_request> read_ui_request(
    std::string_view body, std::string_view run_id, std::size_t max_depth, memory_budget* budget
);

/// The member of the AI SDK's request that a failure of the RunAgentInput concerns.
[[nodiscard]] std::string ui_path(std::string_view input_path);

} // namespace agui::translator
