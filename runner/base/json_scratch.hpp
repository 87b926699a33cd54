#pragma once

#include "session/base/memory_budget.hpp"

#include <boost/json/value.hpp>

#include <optional>
#include <string_view>

namespace agui::runner {

/// A JSON text that was parsed.
struct parsed_json {
    /// Null: the text is not JSON, or nested deeper than 64 levels.
    const boost::json::value* value = nullptr;
    /// Some strings are not UTF-8, because a server has cut a character in two, or a surrogate pair
    /// of `\u` escapes, whose halves are then three bytes each (WTF-8). utf8_joiner joins them.
    bool torn = false;
};

/// Parses one JSON text into memory that the calling thread reuses for the next one, so that a
/// stream of small texts soon allocates nothing. The value is read-only and valid until the next
/// call on the same thread: use it before any call that may parse and before any await.
[[nodiscard]] parsed_json parse_json_scratch(std::string_view text);

/// One JSON text that was parsed into memory of its own.
struct parsed_large_json {
    std::optional<boost::json::value> value; ///< As parsed_json::value.
    bool torn = false;                       ///< As parsed_json::torn.
    bool no_memory = false;                  ///< The budget has no room for the value.
};

/// As parse_json_scratch(), for a text that is large. `budget` counts the value; it may be null.
[[nodiscard]] parsed_large_json parse_large_json(std::string_view text, memory_budget* budget);

/// Frees what the last value has taken beyond the memory that is kept. The value becomes invalid.
void drop_json_scratch();

} // namespace agui::runner
