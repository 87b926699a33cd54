#pragma once

#include "session/base/error.hpp"

#include <boost/json/value.hpp>

#include <string_view>

namespace agui::session {

/// Reads JSON that a store has written. What was accepted once must be readable again: a tool may
/// have answered with bytes that are not UTF-8, and the limits on input are not this reader's.
/// errc::invalid_json.
[[nodiscard]] result<boost::json::value> parse_stored(std::string_view text);

} // namespace agui::session
