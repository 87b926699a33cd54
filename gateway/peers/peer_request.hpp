#pragma once

#include "gateway/run/peer_door.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

// Requests between gateways, below base_path, and their answers. The paths contain a version: a
// gateway that does not know it answers 404, as if it did not have the run.

inline constexpr std::string_view peer_ping_path = "/peer/1/ping"; ///< GET: 204.
inline constexpr std::string_view peer_log_path = "/peer/1/log";   ///< POST: entry_frames.hpp.
/// POST: 204, or 200 if there is no such stream.
inline constexpr std::string_view peer_leave_path = "/peer/1/leave";
inline constexpr std::string_view peer_stop_path = "/peer/1/stop"; ///< POST: stopped_here.
inline constexpr std::string_view peer_pass_path = "/peer/1/pass"; ///< POST: client_answer.

/// Numbers of the sending and the addressed gateway.
inline constexpr std::string_view peer_header_prefix = "agui-peer-";
inline constexpr std::string_view peer_from_header = "agui-peer-from";
inline constexpr std::string_view peer_to_header = "agui-peer-to";

/// Room for three ids of 512 bytes, each of which is escaped.
inline constexpr std::size_t peer_request_bytes_max = 16'384;

/// Limit for the data of a passed request besides its body: ids, and a head in which every byte may
/// be escaped.
inline constexpr std::size_t passed_head_bytes_max = 262'144;
/// Limit for the answer to a passed request, which is never a stream.
inline constexpr std::size_t passed_answer_bytes_max = 1'048'576;

/// The JSON body of every other POST. Unneeded members are left out.
struct peer_request {
    session::thread_key key;
    std::optional<std::string> run_id;
    std::int64_t run_number = 0; ///< For a log: the run's number in the store, or 0 if unknown.
    std::uint64_t after = 0;     ///< For a log: number of the entry after which to begin.
    stop_wish wish = stop_wish::cancelled;
    std::chrono::milliseconds age{0}; ///< For a stop: time since the client's request.
    /// For a log and for leaving it: the number that the asking gateway chose for the stream.
    std::int64_t stream = 0;
};

[[nodiscard]] std::string write_peer_request(const peer_request& what);
/// errc::invalid_json, errc::invalid_input.
[[nodiscard]] result<peer_request> read_peer_request(std::string_view body);

[[nodiscard]] std::string write_stopped(const stopped_here& what);
/// Fails as read_peer_request().
[[nodiscard]] result<stopped_here> read_stopped(std::string_view body);

// A request that is passed on, and its answer: a line of JSON, then the body as it is.

/// Its time is written as its age at `now`.
[[nodiscard]] std::string
write_passed(const client_request& what, std::chrono::steady_clock::time_point now);
/// `arrived` is when its first byte arrived here. Fails as read_peer_request().
[[nodiscard]] result<client_request>
read_passed(std::string what, std::chrono::steady_clock::time_point arrived);

[[nodiscard]] std::string write_answer(const client_answer& what);
/// Fails as read_peer_request().
[[nodiscard]] result<client_answer> read_answer(std::string what);

} // namespace agui::gateway
