#pragma once

#include "session/base/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace agui::session {

/// The most that is kept of what a model server says about a failure.
inline constexpr std::size_t attempt_body_max = 16U << 10U;

/// A try at a model that failed: for the operator's eyes alone, because `body` may repeat what the
/// conversation says. No route serves it, and no log shows it.
struct failed_attempt {
    std::int64_t run_number = 0;
    unix_ms at = 0;
    std::string model;      ///< The model's name in the configuration.
    int status = 0;         ///< The HTTP status; 0: none was received.
    std::string request_id; ///< The model server's own id of the request; empty: it sent none.
    std::string body;       ///< What the server said, keys cut out; at most attempt_body_max bytes.
};

} // namespace agui::session
