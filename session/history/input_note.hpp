#pragma once

#include "session/base/clock.hpp"
#include "session/base/text_map.hpp"
#include "session/conversation/input_question.hpp"
#include "session/conversation/thread.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// The questions that a tool asks a person while its call is open, and their answers. A thread keeps
// both as notes among its messages, which like the note of a failure (turn_failure.hpp) are
// messages of role `activity`, so that stores need not know of them. A note is never sent to a
// model, compared with an input or shown to a client as a message, and no client can write one.

/// The approval that came before the first question of a call.
struct earlier_approval {
    std::string digest;                   ///< message::approval_answer; empty if there was none.
    std::optional<std::string> arguments; ///< The person's, in place of the model's.
};

/// The note of a question. It takes the id of the message before it, so that the last message of a
/// branch still has that id. Only the first question of a call keeps the approval.
[[nodiscard]] message question_note(
    std::string before, std::string_view call_id, const input_question& question,
    const earlier_approval& approval
);
/// The note of the answer to the last question of the call.
[[nodiscard]] message answer_note(
    std::string before, std::string_view call_id, const boost::json::value& answer,
    std::string_view digest
);
/// True for both kinds of notes.
[[nodiscard]] bool is_input_note(const message& value) noexcept;

/// A question of a call, and its answer. The views belong to the thread.
struct asked_input {
    const boost::json::object* question = nullptr;
    unix_ms asked_at = 0;
    const boost::json::value* answer = nullptr; ///< The last one given; null if there is none.
    std::string_view digest;                    ///< Of the answer.

    [[nodiscard]] input_question read() const;
    /// Lives as long as the thread.
    [[nodiscard]] const boost::json::object& schema() const;
};

/// The questions of one call, in order.
struct call_inputs {
    std::vector<asked_input> questions;
    earlier_approval approval;
};

/// The questions of all calls of a thread, which must outlive the index and not change.
class input_index {
public:
    input_index() = default;
    explicit input_index(const thread_record& thread);

    /// Lives as long as the index; empty for a call that has asked nothing.
    [[nodiscard]] const call_inputs& of(std::string_view call_id) const;

private:
    view_map<call_inputs> calls_;
};

} // namespace agui::session
