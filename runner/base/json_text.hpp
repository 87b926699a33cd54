#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::runner {

/// Appends `text` as a JSON string with its quotes. Escapes only what RFC 8259 demands, so that the
/// same text always gives the same bytes. Bytes that are not UTF-8 become U+FFFD, so that nothing
/// that a server sends can make invalid JSON.
void append_json_string(std::string& out, std::string_view text);

/// The number of bytes at the beginning of `text` that are ASCII and that a JSON string holds
/// unescaped.
[[nodiscard]] std::size_t plain_bytes(std::string_view text) noexcept;

/// Appends a member with a text after another member: `,"name":"value"`. The name needs no escape.
void append_text_member(std::string& out, std::string_view name, std::string_view value);

/// Appends the escape of a character that a JSON string cannot hold unescaped (a quote, a
/// backslash, a control character below U+0020), in its short form where there is one.
void append_json_escape(std::string& out, char character);

} // namespace agui::runner
