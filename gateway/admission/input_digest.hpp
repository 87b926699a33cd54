#pragma once

#include <string>
#include <string_view>

namespace agui::gateway {

/// SHA-256 of a request's canonical JSON, as lower-case hexadecimal: enough to recognise a repeat
/// (P6) without keeping what the client sent.
[[nodiscard]] std::string input_digest(std::string_view canonical_json);

} // namespace agui::gateway
