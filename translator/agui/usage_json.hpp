#pragma once

#include "runner/base/model_provider.hpp"
#include "translator/agui/agui_translator.hpp"

#include <string>
#include <vector>

namespace agui::translator {

/// The `usage` member of a terminal event: an array with one entry per (provider, model) in the
/// order of first use, or one for all where the names are left out. Counts are sums over the calls
/// that reported them: one that no call reported is absent. Counts that a client refuses (negative,
/// beyond 2^53-1: they would cost it the whole answer) are left out. Empty text: no member.
[[nodiscard]] std::string
usage_json(const std::vector<runner::token_usage>& calls, translator_settings::usage_detail detail);

} // namespace agui::translator
