#pragma once

#include "session/conversation/thread.hpp"

#include <vector>

namespace agui::session {

/// The part of a message that later requests leave out.
enum class refused_part {
    none,
    media, ///< Media became a note.
    /// The whole content became a note. For an answer, its reasoning and the data to send back to
    /// its model are left out, and the arguments of its calls are empty.
    whole,
};

/// Returns for each message of `path` the part that is left out, so that one refused message does
/// not make each later request fail. The notes on the path (turn_failure.hpp) decide:
/// - the user messages since the last answer or note, and the messages after them, are refused
///   together by a refusal that no answer follows. An answer that a model server withdrew is none;
/// - they are sent whole until a newer user message follows. Then something is left out, and one
///   thing more for each refusal that follows at once, the most suspicious first: their own media;
///   the media of all earlier messages, which another model may have taken; their texts and
///   results; the model's own output in this turn besides its text.
/// Steps with nothing to leave out are skipped: without any media the text is left out at once.
/// Pure, and stable: an answer changes none of the parts. Takes time proportional to the path.
[[nodiscard]] std::vector<refused_part>
refused_parts(const thread_record& thread, const std::vector<node_index>& path);

/// Leaves that part out of a message on its way to a model. A reasoning message with `whole` is not
/// sent at all, so the caller drops it.
void leave_out(refused_part part, message& value);

} // namespace agui::session
