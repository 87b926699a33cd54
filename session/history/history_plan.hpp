#pragma once

#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"
#include "session/history/approval.hpp"

#include <boost/json/value.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// `tools.on_partial`: some of several pending calls are answered.
enum class on_partial { automatic, wait, proceed, reject };
/// `tools.on_abandoned`: a user message arrives while calls are pending.
enum class on_abandoned { answer, reject };
/// `session.client_history`, set for an agent or by the header X-Client-History: the messages that
/// a client sends with each request. It matters only if no user message of the input is known by
/// id.
enum class client_history {
    /// Messages that match the branch by content are known; one unknown message is new, several are
    /// an edit.
    automatic,
    full,  ///< Always the whole history: an unknown message is an edit of the first one.
    delta, ///< Only the new messages: never an edit.
};

[[nodiscard]] std::optional<client_history> client_history_from_string(std::string_view name
) noexcept;
/// `session.history`: the side whose copy of the conversation counts.
enum class history_mode { server, client };

struct history_policy {
    history_mode mode = history_mode::server;
    session::client_history client_history = session::client_history::automatic;
    session::on_partial on_partial = session::on_partial::automatic;
    session::on_abandoned on_abandoned = session::on_abandoned::answer;
    bool accept_client_system = false;
    /// How long a call can be approved.
    std::chrono::seconds approval_life{7 * 24 * 3600};
};

/// The part of a request that the history rule uses.
struct history_input {
    /// The given messages. The caller has filled in missing ids and made all ids distinct
    /// (history_ids.hpp). Seed 002's `tool_name`/`name` of a tool message is in message::name.
    std::vector<message> messages;
    /// Names in the request's `tools`; nullopt if there is no `tools` member.
    std::optional<std::vector<std::string>> offered_tools;
    std::vector<std::string> configured_external_tools; ///< Declared external in the config.
    /// True for the name of a tool that the server executes.
    std::function<bool(std::string_view)> is_server_tool;
    std::vector<approval_answer> approvals; ///< The request's `resume`.
    answer_checks checks;
    unix_ms now = 0; ///< The time at which approvals expire.
};

/// The next step of the run after the input has been stored.
enum class next_step {
    call_model,
    wait_for_answers, ///< Answers are stored, others still pending: finish without a model call.
    nothing,          ///< Nothing is new or unanswered: finish without a model call.
    /// Execute the calls that the input approves, then finish without a model call, because others
    /// wait for their approval. New user messages are answered once all approvals are.
    wait_for_approval,
    refuse, ///< The answers to approvals are refused as a whole: fail. Nothing is stored.
};

/// A call that the run executes because the request approves it or answers its question.
struct approved_call {
    std::string call_id;
    std::optional<std::string> arguments;        ///< In place of the model's, as JSON.
    std::string digest;                          ///< message::approval_answer of its result.
    std::vector<boost::json::value> inputs = {}; ///< judged_answer::inputs
};

/// An answer that takes effect.
struct taken_answer {
    std::string call_id;
    std::string message_id;
};

/// The plan for a request: the place where the conversation continues, the changes to store, and
/// the next step.
struct history_plan {
    next_step next = next_step::call_model;
    /// Messages, branches, calls, head and offered-history flag to store; without events and times.
    changes change;
    std::vector<taken_answer> answers;          ///< Each gets one `tool.response`.
    std::vector<approved_call> approved;        ///< Each gets one `interrupt.answered`, as do
    std::vector<taken_answer> refused_calls;    ///< the calls that were denied or cancelled.
    std::string_view refusal;                   ///< With `refuse`: why, without content.
    std::vector<std::string> new_user_messages; ///< Their ids; each gets one `user.message`.
    /// The client lacks messages of the branch, or the owners of its answers: send them. Set with
    /// `nothing` and `wait_for_answers` only.
    bool snapshot = false;
    bool new_user_turn = false; ///< `tool_choice` applies to the first model call of a user turn.
    std::vector<std::string> warnings; ///< One sentence each, without content; for the log.
};

/// Decides which messages of `input` are new to `thread` and where the conversation continues.
/// Pure: the same arguments give the same plan. `thread` is empty (no nodes) if it is new.
/// Failures: unknown_tool_call, tool_name_mismatch, partial_tool_answers, pending_tool_calls; then
/// nothing may be stored.
[[nodiscard]] result<history_plan>
plan_history(const thread_record& thread, const history_input& input, const history_policy& policy);

} // namespace agui::session
