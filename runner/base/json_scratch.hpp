#pragma once

#include <boost/json/value.hpp>

#include <string_view>

namespace agui::runner {

/// A JSON text that was parsed.
struct parsed_json {
    /// Null: the text is not JSON, or nested deeper than 64 levels.
    const boost::json::value* value = nullptr;
    /// Some strings are not UTF-8: a server has cut its stream in the middle of a character, or of
    /// a pair of
    /// `\u` escapes, whose halves are three bytes each then (WTF-8). See utf8_joiner.
    bool torn = false;
};

/// Parses one JSON text into memory that the calling thread uses again for the next one, so that a
/// stream of small texts allocates nothing once it is under way. The value is read-only and lives
/// until the next call on the same thread: no call that may parse, and no await, may come between.
[[nodiscard]] parsed_json parse_json_scratch(std::string_view text);

/// Releases what the last text has taken beyond the memory that is kept. Its value is gone.
void drop_json_scratch();

} // namespace agui::runner
