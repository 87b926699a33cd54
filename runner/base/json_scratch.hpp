#pragma once

#include "session/base/memory_budget.hpp"

#include <boost/json/value.hpp>

#include <optional>
#include <string_view>

namespace agui::runner {

/// A parsed JSON text.
struct parsed_json {
    /// Null if the text is not JSON or is nested deeper than 64 levels.
    const boost::json::value* value = nullptr;
    /// Some strings are not UTF-8 because a server cut a character or a surrogate pair of `\u`
    /// escapes in two. Each half of such a pair is three bytes (WTF-8). utf8_joiner joins the
    /// halves.
    bool torn = false;
};

/// Parses one JSON text into memory that the calling thread reuses for the next one, so that a
/// stream of small texts soon allocates nothing. The value is read-only and valid until the next
/// call on the same thread: use it before any call that may parse and before any await.
[[nodiscard]] parsed_json parse_json_scratch(std::string_view text);

/// A JSON text parsed into memory of its own.
struct parsed_large_json {
    /// Nullopt if `no_memory`, or where parsed_json::value would be null.
    std::optional<boost::json::value> value;
    bool torn = false;      ///< See parsed_json::torn.
    bool no_memory = false; ///< The budget has no room for the value.
};

/// Like parse_json_scratch(), for large texts. `budget`, which may be null, counts the value.
[[nodiscard]] parsed_large_json parse_large_json(std::string_view text, memory_budget* budget);

/// Frees the memory that the last value took beyond the reused buffer. The value becomes invalid.
void drop_json_scratch();

} // namespace agui::runner
