#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui {

/// The tokens of a JSON Pointer (RFC 6901), unescaped. Without tokens it names the whole document.
using json_pointer = std::vector<std::string>;

/// nullopt if the text is not a JSON Pointer.
[[nodiscard]] std::optional<json_pointer> parse_pointer(std::string_view text);

/// Appends `/` and the token, escaped, to the text of a JSON Pointer.
void append_token(std::string& pointer, std::string_view token);

/// The index in an array that a token names: digits without leading zeros (RFC 6901, 4).
[[nodiscard]] std::optional<std::size_t> index_in_array(std::string_view token) noexcept;

/// The value at that place of the document; null if there is none.
[[nodiscard]] const boost::json::value*
find_value(const boost::json::value& document, const json_pointer& tokens) noexcept;

/// True for paths through `__proto__`, or through `constructor` and then `prototype`: the official
/// JavaScript client rejects a patch that has one.
[[nodiscard]] bool is_refused_by_clients(const json_pointer& tokens) noexcept;

// Measures and comparisons of documents. Recursive, as deep as the value.

/// The approximate bytes of the value as JSON. Counting stops above `most`.
[[nodiscard]] std::size_t json_size(const boost::json::value& value, std::size_t most) noexcept;

/// True if the value is nested no deeper than `most`; a text or a number has the depth 1.
[[nodiscard]] bool is_nested_within(const boost::json::value& value, std::size_t most) noexcept;

/// True if both are the same to a client: the order of members does not count, and 1 is 1.0
/// (RFC 6902, 4.6).
[[nodiscard]] bool
is_same_json(const boost::json::value& left, const boost::json::value& right) noexcept;

} // namespace agui
