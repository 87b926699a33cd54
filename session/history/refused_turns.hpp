#pragma once

#include "session/conversation/thread.hpp"

#include <vector>

namespace agui::session {

/// How much of a message later requests leave out.
enum class refused_part {
    none,
    media, ///< Media became a note.
    /// The whole content became a note. Of an answer: its reasoning, and what its model wants sent
    /// back with it, are left out, and the arguments of its calls are empty.
    whole,
};

/// For each message of `path` how much of it is left out, so that one refused message does not make
/// each later request fail. By the notes on the path (turn_failure.hpp):
/// - the user messages since the last answer or note, and what follows them, are refused together
///   by a refusal that no answer follows;
/// - they are sent whole until a newer user message follows. Then something is left out, and one
///   thing more for each refusal that follows at once, the most suspicious first: their own media;
///   the media of all earlier messages, which another model may have taken; their texts and
///   results; what the model itself has said in this turn besides its text.
/// Steps with nothing to leave out are skipped: without any media the text is left out at once.
/// Pure, and stable: an answer changes nothing of it. Takes time proportional to the path.
[[nodiscard]] std::vector<refused_part>
refused_parts(const thread_record& thread, const std::vector<node_index>& path);

/// Leaves that much out of a message on its way to a model. Of a reasoning message nothing is left
/// with `whole`: it is not sent.
void leave_out(refused_part part, message& value);

} // namespace agui::session
