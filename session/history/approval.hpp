#pragma once

#include "session/conversation/thread.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// A person's approval of a server call. Nothing of it is stored but the status of the call and,
// with its result, a digest of the answer: all else follows from the stored call.

/// A call that waits for its approval.
struct approval {
    /// Names the call, its tool and its arguments in their thread: an answer to this id approves
    /// nothing else.
    std::string id;
    std::string call_id;
    std::string tool;
    std::string arguments;            ///< As the model wrote them.
    unix_ms expires_at = 0;           ///< From then on it can only be cancelled.
    std::string subagent_run_id = {}; ///< Of the subagent that has made the call; empty if none.
};

/// The id of the approval of `call` in the thread `key`; always the same.
[[nodiscard]] std::string approval_id(const thread_key& key, const tool_call& call);

/// The id of the call that an approval is about, whether or not there is one. A part of `id`.
[[nodiscard]] std::string_view call_of_approval(std::string_view id) noexcept;

/// The approvals that the branch ending in `tip` waits for, in the order of the calls. An approval
/// expires `life` after its message was stored. With `held`, also those of the active run.
[[nodiscard]] std::vector<approval> open_approvals(
    const thread_record& thread, node_index tip, std::chrono::seconds life, bool held = false
);

/// A client's answer to an approval: an entry of `resume`.
struct approval_answer {
    std::string approval_id;
    bool cancelled = false; ///< The approval is withdrawn, and the call is not executed.
    /// {"approved": boolean, "reason"?: string, "editedArgs"?: object}; other members are ignored,
    /// and a null counts as absent.
    std::optional<boost::json::value> payload;
};

/// True if a tool can be called with the arguments.
using argument_check =
    std::function<bool(std::string_view tool, const boost::json::object& arguments)>;

/// An answer that takes effect.
struct judged_answer {
    call_status becomes = call_status::denied; ///< approved, denied or cancelled
    const call_record* call = nullptr;         ///< Belongs to the thread.
    std::string reason;                        ///< The person's words; may be empty.
    std::optional<std::string> arguments;      ///< In place of the model's.
    std::string digest;                        ///< message::approval_answer
};

/// The answers of one request, judged as a whole.
struct judged_answers {
    /// Why none of them takes effect, as a sentence without content; empty if nothing is refused.
    std::string_view refusal;
    std::vector<judged_answer> answers;
    bool any_open = false; ///< An approval that they leave without an answer.
    /// The number of answers that name no approval of the branch, which are left out.
    std::size_t unknown = 0;
};

/// Judges the answers to the calls for which `is_on_branch` is true. Refused are: two answers to
/// one approval, an expired approval that is not cancelled, a payload of another form, arguments
/// that do not fit the tool, and another answer than the one that a call already has. The same
/// answer again changes nothing. Pure. `thread` must outlive the result.
[[nodiscard]] judged_answers judge_approvals(
    const thread_record& thread, const std::vector<approval_answer>& given,
    const std::function<bool(const call_record&)>& is_on_branch, const argument_check& fits,
    std::chrono::seconds life, unix_ms now
);

/// The stored result of a call that was denied or cancelled.
[[nodiscard]] message refused_result(const judged_answer& answer);

} // namespace agui::session
