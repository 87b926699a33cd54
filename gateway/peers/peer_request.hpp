#pragma once

#include "gateway/runs/peer_door.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

// What one gateway asks another for, below base_path, and what it is answered. The version is part
// of the paths: a gateway that does not know it answers 404, as if it did not have the run.

inline constexpr std::string_view peer_ping_path = "/peer/1/ping";   ///< GET: 204.
inline constexpr std::string_view peer_log_path = "/peer/1/log";     ///< POST: entry_frames.hpp.
inline constexpr std::string_view peer_leave_path = "/peer/1/leave"; ///< POST: 204.
inline constexpr std::string_view peer_stop_path = "/peer/1/stop";   ///< POST: stopped_here.

/// Which gateway asks, and which is meant: their numbers.
inline constexpr std::string_view peer_from_header = "agui-peer-from";
inline constexpr std::string_view peer_to_header = "agui-peer-to";

/// Room for three ids of 512 bytes, each of which is escaped.
inline constexpr std::size_t peer_request_bytes_max = 16'384;

/// The JSON body of every POST. What it does not need is left out.
struct peer_request {
    session::thread_key key;
    std::optional<std::string> run_id;
    std::uint64_t after = 0; ///< Of a log: entries after this one.
    stop_wish wish = stop_wish::cancelled;
    std::int64_t stream = 0; ///< Of a log and the leaving of it: the asking gateway's own number.
};

[[nodiscard]] std::string write_peer_request(const peer_request& what);
/// errc::invalid_json, errc::invalid_input.
[[nodiscard]] result<peer_request> read_peer_request(std::string_view body);

[[nodiscard]] std::string write_stopped(const stopped_here& what);
/// Fails as read_peer_request().
[[nodiscard]] result<stopped_here> read_stopped(std::string_view body);

} // namespace agui::gateway
