#pragma once

#include "session/base/log.hpp"
#include "session/conversation/message.hpp"
#include "session/conversation/queued_request.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::session {

// Messages as every store writes them: the text that to_stored_json() makes. A message that cannot
// be read is left out with a warning, so that the others stay usable.

/// Reads `text` into `to`, which is empty: the message of that number in the thread. Returns false
/// if it is left out: `to` is then an empty `activity` message.
[[nodiscard]] bool read_stored_message(
    std::string_view text, const thread_key& thread, std::size_t number, message& to,
    agui::logger& log
);

/// A queued request without its messages, and these as text. Made on the caller's thread, because
/// that takes long.
struct stored_request {
    explicit stored_request(queued_request given);

    queued_request request;
    std::uint64_t bytes = 0; ///< bytes_of() of the whole request.
    std::string messages;    ///< The JSON of all, an array.
};

/// Appends the messages in `text`, an array, to those of the request.
void read_queued_messages(std::string_view text, queued_request& to, agui::logger& log);

} // namespace agui::session
