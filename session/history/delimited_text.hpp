#pragma once

#include "session/conversation/prompt_record.hpp"
#include "session/history/text_part.hpp"

#include <string>
#include <string_view>

namespace agui::session {

// The parts that a gateway adds to messages: `<context note="…">…</context>`, and the same with
// `state` and `values`. The note says who gave the part. No text that comes from elsewhere can end
// a part or begin one of its own.

/// Appends a text that stands between quotes in a part: `&`, `<` and `"` are escaped.
void append_quoted(std::string& out, std::string_view text);
/// Appends a text that stands between tags: `&` and `<` are escaped.
void append_between_tags(std::string& out, std::string_view text);

/// The values of placeholders as a part; empty if there are none.
[[nodiscard]] std::string values_text(const prompt_value_list& values);

/// Replaces the `<` with `&lt;` wherever a delimited part seems to begin, in upper or lower case,
/// or may begin in a text that may be continued. All other text stays as it is. Escaping a text
/// twice changes nothing more.
void escape_parts(std::string& text, text_end end);

} // namespace agui::session
