#pragma once

#include <string>
#include <string_view>

namespace agui::gateway {

/// SHA-256 of a request's canonical JSON, as lower-case hexadecimal: enough to recognize a repeat
/// (P6) without keeping the client's body.
[[nodiscard]] std::string input_digest(std::string_view canonical_json);

} // namespace agui::gateway
