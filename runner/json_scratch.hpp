#pragma once

#include <boost/json/value.hpp>

#include <string_view>

namespace agui::runner {

/// Parses one JSON text into memory that the calling thread uses again for the next one, so that a
/// stream of small texts allocates nothing once it is under way. The value is read-only and lives
/// until the next call on the same thread: no call that may parse, and no await, may come between.
/// Null if the text is not JSON, is nested deeper than 64 levels or is not valid UTF-8.
[[nodiscard]] const boost::json::value* parse_json_scratch(std::string_view text);

} // namespace agui::runner
