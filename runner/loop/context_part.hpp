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
/// text. It is delimited so that no entry can end it: `<` and `&` of entries are written as `&lt;`
/// and `&amp;`. Array elements without a `value` are skipped. Empty if there are no entries.
[[nodiscard]] std::string context_text(const boost::json::array& entries);

/// Size above which a state is left out of model requests: it would fill the context window of most
/// models, and a part of a JSON document is worse than none.
inline constexpr std::size_t state_text_max = 65'536;

/// The state document as one text, delimited as in context_text(). The same document gives the same
/// bytes. Empty for null and `{}`, which clients send while they know no state. For a document of
/// more than state_text_max bytes, the text says that it was left out.
[[nodiscard]] std::string state_text(const json_text& state);

/// Puts `context`, unless it is empty, at the start of the last user message of a model request.
/// Thus roles alternate as strict chat templates demand, and all earlier messages stay the same for
/// the provider's prompt cache. If there is no user message, the context becomes one at the start.
void put_context(std::vector<session::message>& history, std::string_view context);

} // namespace agui::runner
