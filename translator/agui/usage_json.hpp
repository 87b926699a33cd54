#pragma once

#include "runner/base/model_provider.hpp"
#include "translator/agui/agui_translator.hpp"

#include <string>
#include <vector>

namespace agui::translator {

/// The `usage` member of a terminal event: an array with one entry per (provider, model) in the
/// order of first use, or one entry for all if the names are left out. Each count is a sum over the
/// calls that reported it; one that no call reported is absent. Counts that a client would refuse,
/// and with them the whole answer (negative, beyond 2^53-1), are left out. Empty text: no member.
[[nodiscard]] std::string
usage_json(const std::vector<runner::token_usage>& calls, translator_settings::usage_detail detail);

} // namespace agui::translator
