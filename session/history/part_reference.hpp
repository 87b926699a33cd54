#pragma once

#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/media_part.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// A snapshot that would be too large for clients names a part of a message by its digest instead
// of holding it. The names come back in later requests, and lead to the thread's own bytes.

/// A text in place of a data part: its type, its size and its digest.
[[nodiscard]] std::string left_out_note(std::string_view mime_type, const part_digest& digest);

/// A data part without its bytes: with the URL as its source or, if that is empty, the note. `part`
/// must be a data part (data_part_of); throws std::bad_optional_access otherwise.
[[nodiscard]] boost::json::value
named(const boost::json::value& part, const part_digest& digest, std::string_view url);

/// The first `keep` bytes of a text, cut at a character, and a note with its size and its digest.
[[nodiscard]] std::string shortened_text(std::string_view text, std::size_t keep);

/// The path, below server.base_path, at which a part is served.
[[nodiscard]] std::string part_path(std::string_view thread_id, std::string_view sha256);

/// The digest in a link to a part of this thread, whatever its host and query are. Points into
/// `url`; empty if the URL is no such link.
[[nodiscard]] std::string_view linked_digest(std::string_view url, std::string_view thread_id);

/// Parts by their digest.
using parts_by_digest = std::map<std::string, boost::json::value, std::less<>>;

/// The digests of the parts that the user and tool messages of a request name, by link or note, and
/// that the thread does not hold; its attachments may hold them. Returns at most `most`, those of
/// the last messages first. Takes time proportional to the size of the messages; if one names a
/// part, the thread's data parts are hashed as far as necessary, once for all requests that read
/// these messages from memory (node_list::data_digests).
[[nodiscard]] std::set<std::string>
missing_parts(const std::vector<message>& messages, const thread_record& thread, std::size_t most);

/// Puts the thread's own parts and texts, and those of `attached`, in place of their names in the
/// user and tool messages of a request: a media part whose URL ends in the part's path, with any
/// host and query, and the two notes above. A link to another part is dropped, with one warning for
/// all; a note about one stays, because a user may have written it. Takes the time of
/// missing_parts() and of the copies, hashes texts in the same way, and adds the bytes of the
/// copies to `memory`. On failure some names may have been replaced. errc::body_too_large: the
/// copies would take more than `bytes_max`. errc::overloaded: the memory budget has no room.
[[nodiscard]] result<void> restore_parts(
    std::vector<message>& messages, const thread_record& thread, const parts_by_digest& attached,
    std::uint64_t bytes_max, memory_share& memory, std::vector<std::string>& warnings
);

/// The part of the thread with that digest; nullptr if there is none. Hashes the messages before
/// the part, once as missing_parts() does.
[[nodiscard]] const boost::json::value*
find_part(const thread_record& thread, std::string_view sha256);

} // namespace agui::session
