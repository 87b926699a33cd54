#pragma once

#include "session/base/json_text.hpp"
#include "session/conversation/message.hpp"

#include <boost/json/array.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The request's context (RunAgentInput.context: objects with `description` and `value`) as one
/// text, delimited so that no entry can end it: `<` and `&` of entries are written as `&lt;` and
/// `&amp;`. An array element without a `value` is no entry. Empty for no entries.
[[nodiscard]] std::string context_text(const boost::json::array& entries);

/// A larger state is left out of model requests: it would fill the context window of most models,
/// and a part of a JSON document is worse than none.
inline constexpr std::size_t state_text_max = 65'536;

/// The state document as one text, delimited as context_text() does it. The same document gives the
/// same bytes. Empty for null and `{}`, which clients send as long as they know no state; for one
/// of more than state_text_max bytes, the text says that it was left out.
[[nodiscard]] std::string state_text(const json_text& state);

/// Puts `context`, unless it is empty, at the start of the last user message of a model request: so
/// roles alternate as strict chat templates demand, and everything before that message stays the
/// same for the provider's prompt cache. Without a user message, it becomes one at the start.
void put_context(std::vector<session::message>& history, std::string_view context);

} // namespace agui::runner
