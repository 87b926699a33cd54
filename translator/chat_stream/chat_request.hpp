#pragma once

#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "translator/chat_stream/chat_messages.hpp"
#include "translator/input/run_input.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui::translator {

/// A parsed and limited request for a chat stream.
struct chat_request {
    /// The equivalent request of an AG-UI client of the newest version, with only new messages: the
    /// tools' results, then the user's message. thread_id (`sessionId`) and run_id (`messageId`)
    /// are empty if not given.
    run_input input;
    chat_mode mode = chat_mode::incremental; ///< `responseMode`
    /// Data for tools that list its header, never a path for this program. Empty if not given.
    std::string workspace_root;
};

/// `incremental` (also the default) or `full`. invalid_input, at `responseMode`, for anything else.
[[nodiscard]] result<chat_mode> read_chat_mode(std::optional<std::string_view> name);

/// Reads a body `{sessionId?, messageId?, message?, toolResults?, tools?, model?, workspaceRoot?,
/// responseMode?}`, of which it must have `message`, `toolResults` or both. A null member counts as
/// absent, and so do empty ids; members it does not know are ignored. `canonical` is without
/// `sessionId`, `messageId` and `responseMode`. Fails as read_run_input().
[[nodiscard]] result<chat_request> read_chat_request(
    std::string_view body, const input_limits& limits, memory_budget* budget = nullptr
);

/// The number of tool results among the messages of a chat request's `input`. They come first.
[[nodiscard]] std::size_t tool_results_of(const run_input& input);

/// The path in a chat request for a path in its `input` with that many `tool_results`:
/// `messages[1].content` → `toolResults[1].content` or `message`.
[[nodiscard]] std::string chat_path(std::string_view input_path, std::size_t tool_results);

} // namespace agui::translator
