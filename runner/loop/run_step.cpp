#include "runner/loop/run_step.hpp"

#include <algorithm>

namespace agui::runner {

using session::call_status;

bool is_executable(const session::call_record& call) noexcept {
    return call.owner == session::call_owner::server &&
           (call.status == call_status::open || call.status == call_status::approved);
}

run_step next_run_step(std::span<const session::call_record> open) noexcept {
    if (open.empty()) {
        return run_step::ask_model;
    }
    if (std::ranges::any_of(open, is_executable)) {
        return run_step::execute_calls;
    }
    const bool any_held = std::ranges::any_of(open, [](const session::call_record& call) {
        return call.status == call_status::held;
    });
    return any_held ? run_step::ask_approval : run_step::hand_over;
}

} // namespace agui::runner
