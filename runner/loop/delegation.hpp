#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/stop_reason.hpp"
#include "runner/loop/agent_loop.hpp"
#include "runner/loop/conversation.hpp"
#include "session/history/history_plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace agui::runner {

/// What all subagents of a run share, at every depth. Belongs to the run itself and lives on its
/// executor; the referenced objects are the run's own.
struct delegation {
    delegation(
        run_sink& to, conversation& stored, const std::vector<session::approved_call>& allowed,
        const turn_limits& of_run
    ) noexcept
        : sink(to), thread(stored), approved(allowed), limits(of_run) {}

    // The subagents count in the limits of the run, beside their own.
    [[nodiscard]] bool has_tokens() const noexcept {
        return limits.max_tokens == 0 || own.tokens + used.tokens < limits.max_tokens;
    }
    [[nodiscard]] bool has_rounds() const noexcept {
        return limits.max_turn_rounds == 0 || own.rounds + used.rounds <= limits.max_turn_rounds;
    }
    [[nodiscard]] bool has_calls() const noexcept {
        return limits.max_calls == 0 || own.calls + used.calls <= limits.max_calls;
    }

    run_sink& sink;
    conversation& thread;
    const std::vector<session::approved_call>& approved;
    const turn_limits& limits;
    turn_use own;                   ///< Of the user turn by the run itself, before its tools began.
    turn_use used;                  ///< By subagents in this run.
    std::vector<token_usage> usage; ///< Of subagents that have ended.
    std::vector<std::string> named; ///< The calls of subagents, in the order of their beginning.
    bool is_changed = false;        ///< A plugin has changed messages that clients have seen.
    std::uint32_t begun = 0;        ///< Number of subagents, against subagent_runs_max.
};

} // namespace agui::runner
