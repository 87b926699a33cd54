#pragma once

#include <string>
#include <string_view>
#include <vector>

// MESSAGES_SNAPSHOT holds a whole conversation, of which a chat needs few messages: only those are
// parsed.
namespace agui::translator {

/// The elements of the array that is the event's member `key`, as JSON. Empty: there is no such
/// array, or it has no end. Of an empty array: one that is empty.
[[nodiscard]] std::vector<std::string_view>
elements_of(std::string_view event, std::string_view key);

/// `{"id":"a",…` → `a`. Empty: the message does not begin with its id, as written ones do.
[[nodiscard]] std::string id_of(std::string_view message);

} // namespace agui::translator
