#pragma once

#include "runner/base/model_provider.hpp"
#include "session/history/approval.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// Why a run ended. error_code() gives the name that clients see, except for successes.
enum class stop_reason {
    completed,
    external_tool,   ///< Calls are left to the caller.
    partial_answers, ///< Answers were stored, but other calls are pending, so no model was asked.
    nothing_new,     ///< The request held nothing to continue with.
    approval_needed, ///< A person has to approve calls: `interrupt`.
    // Stopped on purpose (P9).
    cancelled,  ///< By the user: `user_stop`.
    aborted,    ///< By a plugin (turn_aborted): `plugin_stop`.
    superseded, ///< A new user message took over the thread.
    run_timeout,
    max_rounds, ///< `max_rounds_exceeded`
    tool_loop,  ///< `tool_loop_detected`
    token_limit,
    quota_exceeded,    ///< The caller's tokens or money for a day or a month are used up.
    max_output_tokens, ///< The text was cut off at its maximum length.
    // Failures.
    resume_rejected, ///< The request's answers to approvals were refused.
    truncated,       ///< A call was cut off: `model_output_truncated`.
    content_filtered,
    model_unavailable,
    model_rejected,
    model_timeout,
    store_unavailable,
    overloaded, ///< The memory budget has no room for the run.
    shutdown,
    error, ///< `internal`
};

enum class stop_class { success, stopped, failed };

[[nodiscard]] stop_class class_of(stop_reason reason) noexcept;

/// The reason of CUSTOM `agui-gateway.run.stopped` or the code of RUN_ERROR; empty for successes.
[[nodiscard]] std::string_view error_code(stop_reason reason) noexcept;

/// The reason with that error_code(): `completed` for an empty code, `error` for an unknown one.
[[nodiscard]] stop_reason stop_reason_of(std::string_view error_code) noexcept;

/// A fixed sentence for people. It never holds text of a model server.
[[nodiscard]] std::string_view describe(stop_reason reason) noexcept;

/// The use of a user turn since the user's message, over all its runs. A hand-off splits a turn
/// into many runs, and no limit may be evaded that way.
struct turn_use {
    std::uint32_t rounds = 0;  ///< Answers that held calls, or after which a plugin asked again.
    std::uint32_t calls = 0;   ///< Includes calls that were not executed.
    std::uint64_t tokens = 0;  ///< Includes input.
    std::string last_provider; ///< Provider of the last answer that names one; may be empty.

    /// Adds, or takes away, the counts of another use.
    turn_use& operator+=(const turn_use& other) noexcept {
        rounds += other.rounds;
        calls += other.calls;
        tokens += other.tokens;
        return *this;
    }
    turn_use& operator-=(const turn_use& other) noexcept {
        rounds -= other.rounds;
        calls -= other.calls;
        tokens -= other.tokens;
        return *this;
    }
};

/// Details of an end besides its reason, for the log and for a program that calls the loop itself.
/// Clients never see them (P12).
struct end_details {
    int status = 0;         ///< The model server's HTTP status; 0 if there is none.
    std::string request_id; ///< The model server's id of the request; may be empty.
    std::string detail;     ///< The failure, or the limit that was reached; may be empty.
    std::string upstream;   ///< The model server's own words, without keys; may be empty.
    std::vector<std::string> hook_errors; ///< Errors that plugins threw, in order.
};

/// The end of a run, from which its terminal event is made.
struct run_end {
    stop_reason reason = stop_reason::completed;
    std::vector<token_usage> usage;
    /// For external_tool: calls of this run that are left open, in order.
    std::vector<std::string> pending_call_ids;
    /// For approval_needed: what the conversation waits for, in the order of the calls; never
    /// empty.
    std::vector<session::approval> approvals = {};
    /// For resume_rejected: the sentence for people; describe() if empty. Lives as long as the
    /// program.
    std::string_view refusal = {};
    /// A stopped or failed run left an external call unanswered.
    bool external_call_open = false;
    end_details about = {};
    turn_use used = {}; ///< Use of the user turn so far, this run included.
};

} // namespace agui::runner
