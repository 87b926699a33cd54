#include "runner/loop/run_step.hpp"

#include <algorithm>

namespace agui::runner {

run_step next_run_step(std::span<const session::call_record> open) noexcept {
    if (open.empty()) {
        return run_step::ask_model;
    }
    const bool any_for_server = std::ranges::any_of(open, [](const session::call_record& call) {
        return call.owner == session::call_owner::server;
    });
    return any_for_server ? run_step::execute_calls : run_step::hand_over;
}

} // namespace agui::runner
