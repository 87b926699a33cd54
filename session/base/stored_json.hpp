#pragma once

#include "session/base/error.hpp"
#include "session/base/json_text.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/value.hpp>

#include <string_view>

namespace agui::session {

/// A request may have a depth of 1024, and a message adds some.
inline constexpr json_limits stored_limits{.max_depth = 2000, .any_bytes = true};

/// Reads JSON that a store has written. Data that was accepted once must stay readable: a tool may
/// have answered with bytes that are not UTF-8, and the limits on input do not apply.
/// errc::invalid_json if it is damaged.
[[nodiscard]] result<boost::json::value> parse_stored(std::string_view text);

/// The same for JSON that is kept as text: it is checked, but no values are built.
[[nodiscard]] result<json_text> read_stored_text(std::string_view text);

/// The same for an object. Null if it has no members, is not an object or is damaged.
[[nodiscard]] json_text stored_object(std::string_view text);

} // namespace agui::session
