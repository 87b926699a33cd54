#pragma once

#include "runner/hooks/plugin.hpp"

#include <memory>
#include <vector>

namespace agui::runner {

/// Keeps only the tool results of earlier user turns: the calls are removed, and each turn's
/// answers and results become one assistant message, in which each result is marked with the name
/// of its tool. The thread is not changed.
[[nodiscard]] std::vector<session::message> with_results_only(std::vector<session::message> all);

/// A plugin that applies with_results_only() to each request.
[[nodiscard]] std::shared_ptr<plugin> make_results_only();

} // namespace agui::runner
