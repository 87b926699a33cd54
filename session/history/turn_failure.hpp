#pragma once

#include "session/conversation/message.hpp"

#include <string>
#include <string_view>

namespace agui::session {

// A thread keeps the failure of a run as a note among its messages, after the last message of the
// run. A note is a message of role `activity`, so that stores need not know of it. It is never sent
// to a model, compared with an input or shown to a client as a message of its own: the message
// before it gets `failure_member` in its metadata.

/// The member of a shown message's metadata: {"code","message"}, as in RUN_ERROR.
inline constexpr std::string_view failure_member = "agui-gateway.error";

struct turn_failure {
    std::string code;
    std::string message;
    /// True if the model server refused the request because of its content: see refused_turns.hpp.
    bool refused = false;
};

/// `about` is the id of the message before the note. The note takes this id, so that the last
/// message of a branch still has it.
[[nodiscard]] message failure_note(std::string about, const turn_failure& failure);

[[nodiscard]] bool is_failure_note(const message& value) noexcept;
/// True for the note of a failure that was `refused`.
[[nodiscard]] bool is_refusal_note(const message& value) noexcept;

/// Copies the failure in `note` into the metadata of the message that it is about.
void show_failure(const message& note, message& about);
/// Removes it from a client's message, because clients may send back messages as shown.
void drop_failure(message& given);

} // namespace agui::session
