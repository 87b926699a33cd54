#pragma once

#include <boost/json/array.hpp>

namespace agui::translator {

/// AG-UI messages, in the form of MESSAGES_SNAPSHOT, as `UIMessage`s of TanStack AI: a result of a
/// tool is a part of the message that holds the call, and reasoning one of the answer after it.
/// Messages of the system, activities, and the texts of subagents are left out. Source: the npm
/// package `@tanstack/ai`, 0.58.
[[nodiscard]] boost::json::array tanstack_messages(const boost::json::array& messages);

} // namespace agui::translator
