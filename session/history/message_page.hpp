#pragma once

#include "session/base/error.hpp"
#include "session/conversation/message.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace agui::session {

/// Cuts shown messages to a page: the last ones before the message with the id `before`, or of all
/// if it is empty. A page consists of whole turns, so that no result stands without its call: it
/// begins with a user message, and has more than `limit` messages if its first turn is longer.
/// Returns whether there are earlier messages. errc::not_found: no message has that id. Pure.
[[nodiscard]] result<bool>
cut_to_page(std::vector<message>& messages, const std::string& before, std::size_t limit);

} // namespace agui::session
