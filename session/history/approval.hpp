#pragma once

#include "session/conversation/thread.hpp"
#include "session/history/input_note.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// A person's approval of a server call. Nothing of it is stored but the status of the call and,
// with its result, a digest of the answer: all else follows from the stored call. A call whose tool
// asks a person for input (input_note.hpp) waits for the answer with the same statuses, and its
// answer is judged by the same rules.

/// A call that waits for its approval or for the answer to a question.
struct approval {
    /// Names the call, its tool and its arguments in their thread, and the number of the question:
    /// an answer to this id answers nothing else.
    std::string id;
    std::string call_id;
    std::string tool;
    std::string arguments;            ///< As the model wrote them.
    unix_ms expires_at = 0;           ///< From then on it can only be cancelled.
    std::string subagent_run_id = {}; ///< Of the subagent that has made the call; empty if none.
    /// Null for an approval.
    std::shared_ptr<const input_question> question = {};
};

/// The id of the approval of `call`, which the message with this id made, or of its question with
/// that number, counted from 1; always the same. Ids of messages tell threads apart. Nothing of the
/// thread's owner is in it: others to whom the thread is open could try guesses against a digest.
[[nodiscard]] std::string
approval_id(std::string_view message_id, const tool_call& call, std::size_t question = 0);

/// The id of the call that an approval is about, whether or not there is one. A part of `id`.
[[nodiscard]] std::string_view call_of_approval(std::string_view id) noexcept;

/// The approvals and answers that the branch ending in `tip` waits for, in the order of the calls.
/// An approval expires `life` after its message was stored, and a question after it was. With
/// `held`, also those of the active run.
[[nodiscard]] std::vector<approval> open_approvals(
    const thread_record& thread, node_index tip, std::chrono::seconds life, bool held = false
);

/// A client's answer to an approval or a question: an entry of `resume`.
struct approval_answer {
    std::string approval_id;
    bool cancelled = false; ///< The approval is withdrawn, and the call is not executed.
    /// To an approval {"approved": boolean, "reason"?: string, "editedArgs"?: object}; other
    /// members are ignored, and a null counts as absent. To a question any value that fits its
    /// schema; an absent one counts as null.
    std::optional<boost::json::value> payload;
};

/// True if a tool can be called with the arguments.
using argument_check =
    std::function<bool(std::string_view tool, const boost::json::object& arguments)>;

/// True if the value fits the JSON Schema of a question.
using answer_check =
    std::function<bool(const boost::json::object& schema, const boost::json::value& answer)>;

/// The checks of the values in answers. An empty one takes everything.
struct answer_checks {
    argument_check arguments;
    answer_check input;
};

/// An answer that takes effect.
struct judged_answer {
    call_status becomes = call_status::denied; ///< approved, denied or cancelled
    const call_record* call = nullptr;         ///< Belongs to the thread.
    std::string reason;                        ///< The person's words; may be empty.
    std::optional<std::string> arguments;      ///< In place of the model's.
    std::string digest;                        ///< message::approval_answer
    bool is_input = false;                     ///< It is about a question, not about an approval.
    /// The answers to all questions of the call so far, this one last; empty for an approval.
    std::vector<boost::json::value> inputs;
};

/// The answers of one request, judged as a whole.
struct judged_answers {
    /// Why none of them takes effect, as a sentence without content; empty if nothing is refused.
    std::string_view refusal;
    std::vector<judged_answer> answers;
    bool any_open = false; ///< An approval or a question that they leave without an answer.
    /// The number of answers that name no approval of the branch, which are left out.
    std::size_t unknown = 0;
};

/// Judges the answers to the calls for which `is_on_branch` is true. Refused are: two answers to
/// one id, an expired approval or question that is not cancelled, a payload of another form,
/// arguments that do not fit the tool, an answer that does not fit the question's schema, and
/// another answer than the one that an approval or a question already has. The same
/// answer again changes nothing. Pure. `thread` must outlive the result.
[[nodiscard]] judged_answers judge_approvals(
    const thread_record& thread, const std::vector<approval_answer>& given,
    const std::function<bool(const call_record&)>& is_on_branch, const answer_checks& checks,
    std::chrono::seconds life, unix_ms now
);

/// The stored result of a call that was denied or cancelled.
[[nodiscard]] message refused_result(const judged_answer& answer);

} // namespace agui::session
