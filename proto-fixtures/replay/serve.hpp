#pragma once

#include "proto-fixtures/replay/fixture.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::replay {

/// Faults apply to the model's streams. The client sees how the gateway reacts to them.
struct serve_options {
    std::string listen = "127.0.0.1:8080";
    std::vector<std::string>
        cors_origins; ///< Origins of pages served elsewhere, in addition to the fixture's.
    std::chrono::milliseconds pace{0}; ///< Wait before each frame.
    /// Number of frames after which nothing more is sent.
    std::optional<std::uint64_t> stall_after;
    /// Number of frames after which the connection breaks.
    std::optional<std::uint64_t> drop_after;
    std::optional<std::uint64_t> repeat; ///< Index (from 0) of a frame that is sent twice.
};

/// Serves the fixture's gateway until SIGINT or SIGTERM; prints the address. Returns the exit
/// status. Throws std::exception if it cannot listen.
[[nodiscard]] int serve(const fixture& what, const serve_options& options);

} // namespace agui::replay
