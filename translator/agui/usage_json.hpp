#pragma once

#include "runner/base/model_provider.hpp"
#include "translator/agui/agui_translator.hpp"

#include <string>
#include <vector>

namespace agui::translator {

/// The `usage` member of a terminal event: an array with one entry per (provider, model) in the
/// order of first use, or one entry for all if the names are left out. Each count is a sum over the
/// calls that reported it; a count that no call reported is absent. Reported counts that are
/// negative or above 2^53-1 are ignored, because a client would refuse the whole event; sums are
/// limited to 2^53-1. Empty if the event has no such member.
[[nodiscard]] std::string
usage_json(const std::vector<runner::token_usage>& calls, translator_settings::usage_detail detail);

} // namespace agui::translator
