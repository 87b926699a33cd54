#pragma once

#include "session/base/error.hpp"
#include "session/base/json_text.hpp"

#include <boost/json/value.hpp>

#include <string_view>

namespace agui::session {

/// Reads JSON that a store has written. What was accepted once must be readable again: a tool may
/// have answered with bytes that are not UTF-8, and the limits on input are not this reader's.
/// errc::invalid_json.
[[nodiscard]] result<boost::json::value> parse_stored(std::string_view text);

/// The same of what is kept as text, without building it.
[[nodiscard]] result<json_text> read_stored_text(std::string_view text);

} // namespace agui::session
