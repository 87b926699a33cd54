#pragma once

#include <boost/json/value.hpp>

#include <string_view>

namespace agui::runner {

/// A JSON text that was parsed.
struct parsed_json {
    /// Null: the text is not JSON, or nested deeper than 64 levels.
    const boost::json::value* value = nullptr;
    /// Some strings are not UTF-8: a server has split a character, or a surrogate pair of `\u`
    /// escapes, whose halves are three bytes each then (WTF-8). See utf8_joiner.
    bool torn = false;
};

/// Parses one JSON text into memory that the calling thread reuses for the next one, so that a
/// stream of small texts soon allocates nothing. The value is read-only and valid until the next
/// call on the same thread: use it before any call that may parse and before any await.
[[nodiscard]] parsed_json parse_json_scratch(std::string_view text);

/// Frees the memory of the last text beyond the kept part. Its value becomes invalid.
void drop_json_scratch();

} // namespace agui::runner
