#pragma once

#include "session/conversation/message.hpp"

#include <string>
#include <string_view>

namespace agui::session {

// How a thread keeps that a run has failed: as a note among its messages, after the last one that
// the run had. A note is a message of role `activity`, so that stores need not know of it. It is
// never sent to a model, compared with an input or shown to a client as a message of its own: the
// message before it gets `failure_member` in its metadata.

/// The member of a shown message's metadata: {"code","message"}, as in RUN_ERROR.
inline constexpr std::string_view failure_member = "agui-gateway.error";

struct turn_failure {
    std::string code;
    std::string message;
    /// The model server refused the request for what it holds: see refused_turns.hpp.
    bool refused = false;
};

/// `about` is the id of the message before the note, which becomes the note's own: what asks for
/// the last message of a branch then gets that one.
[[nodiscard]] message failure_note(std::string about, const turn_failure& failure);

[[nodiscard]] bool is_failure_note(const message& value) noexcept;
/// True for the note of a failure that was `refused`.
[[nodiscard]] bool is_refusal_note(const message& value) noexcept;

/// Puts what `note` says into the metadata of the message that it is about.
void show_failure(const message& note, message& about);
/// Removes it from a message of a client, which may send back what it was shown.
void drop_failure(message& given);

} // namespace agui::session
