#pragma once

#include "session/conversation/media_part.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// A snapshot that would be too large for clients names a part of a message by its digest instead
// of holding it. The names come back in later requests, and lead to the thread's own bytes.

/// A text in place of a data part: its type, its size and its digest.
[[nodiscard]] std::string left_out_note(std::string_view mime_type, const part_digest& digest);

/// The first `keep` bytes of a text, cut at a character, and a note with its size and its digest.
[[nodiscard]] std::string shortened_text(std::string_view text, std::size_t keep);

/// The path, below server.base_path, at which a part is served.
[[nodiscard]] std::string part_path(std::string_view thread_id, std::string_view sha256);

/// Puts the thread's own parts and texts in place of their names in the user and tool messages of a
/// request: a media part whose URL ends in the part's path, whatever its host and query are, and
/// the two notes above. A link to a part that the thread does not hold is dropped, with a warning;
/// a note about one stays, as somebody may have written it. Reads the thread only if the messages
/// hold such names, and takes time proportional to its size then.
void restore_parts(
    std::vector<message>& messages, const thread_record& thread, std::vector<std::string>& warnings
);

/// The part of the thread with that digest; nullptr: there is none. Takes time proportional to the
/// size of the thread.
[[nodiscard]] const boost::json::value*
find_part(const thread_record& thread, std::string_view sha256);

} // namespace agui::session
