#pragma once

#include "session/base/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace agui::session {

/// The most bytes that are kept of a model server's failure reply.
inline constexpr std::size_t attempt_body_max = 16U << 10U;

/// A failed attempt to call a model. It is for the operator alone, because `body` may repeat parts
/// of the conversation. No route serves it, and no log shows it.
struct failed_attempt {
    std::int64_t run_number = 0;
    unix_ms at = 0;
    std::string model;      ///< The model's name in the configuration.
    int status = 0;         ///< The HTTP status; 0 if none was received.
    std::string request_id; ///< The model server's own id of the request; empty if it sent none.
    std::string body;       ///< The server's reply, keys cut out; at most attempt_body_max bytes.
};

/// The bytes that an attempt takes while it waits to be written.
[[nodiscard]] inline std::size_t approximate_memory(const failed_attempt& attempt) noexcept {
    constexpr std::size_t without_body = 512;
    return attempt.body.size() + without_body;
}

} // namespace agui::session
