#pragma once

#include "session/conversation/message.hpp"

#include <boost/json/array.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The request's context (RunAgentInput.context: objects with `description` and `value`) as one
/// text, delimited so that no entry can end it: `<` and `&` of entries are written as `&lt;` and
/// `&amp;`. An array element without a `value` is no entry. Empty for no entries.
[[nodiscard]] std::string context_text(const boost::json::array& entries);

/// Puts `context`, unless it is empty, at the start of the last user message of a model request: so
/// roles alternate as strict chat templates demand, and everything before that message stays the
/// same for the provider's prompt cache. Without a user message, it becomes one at the start.
void put_context(std::vector<session::message>& history, std::string_view context);

} // namespace agui::runner
