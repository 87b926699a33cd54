#pragma once

#include <string>
#include <string_view>

namespace agui::runner {

/// Appends `text` (UTF-8) as a JSON string with its quotes. Escapes what RFC 8259 demands and
/// nothing else, so that the same text is always the same bytes.
void append_json_string(std::string& out, std::string_view text);

} // namespace agui::runner
