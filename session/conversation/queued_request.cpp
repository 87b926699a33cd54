#include "session/conversation/queued_request.hpp"

#include "session/conversation/message_size.hpp"

namespace agui::session {

std::uint64_t bytes_of(const queued_request& request) {
    std::uint64_t bytes = 0;
    for (const message& each : request.messages) {
        bytes += stored_size(each);
    }
    return bytes;
}

} // namespace agui::session
