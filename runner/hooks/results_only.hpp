#pragma once

#include "runner/hooks/plugin.hpp"

#include <memory>
#include <vector>

namespace agui::runner {

/// Of earlier user turns, a request keeps the results of tools alone: the calls are left out, and
/// the turn's answers and results become one message of the assistant, in which each result is
/// marked with the name of its tool. The thread is not changed.
[[nodiscard]] std::vector<session::message> with_results_only(std::vector<session::message> all);

/// A plugin that does this before each request.
[[nodiscard]] std::shared_ptr<plugin> make_results_only();

} // namespace agui::runner
