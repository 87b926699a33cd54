#include "gateway/admission/input_digest.hpp"

#include "session/base/sha256_text.hpp"

namespace agui::gateway {

std::string input_digest(std::string_view canonical_json) { return sha256_text(canonical_json); }

} // namespace agui::gateway
