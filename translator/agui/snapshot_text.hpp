#pragma once

#include <string>
#include <string_view>
#include <vector>

// MESSAGES_SNAPSHOT holds a whole conversation, of which a chat needs and parses only a few
// messages.
namespace agui::translator {

/// The elements, as JSON, of the array in the event's member `key`. Empty if there is no such
/// array, or it has no end. An empty array gives one empty element.
[[nodiscard]] std::vector<std::string_view>
elements_of(std::string_view event, std::string_view key);

/// `{"id":"a",…` → `a`. Empty if the message does not begin with its id, as this server's messages
/// do.
[[nodiscard]] std::string id_of(std::string_view message);

} // namespace agui::translator
