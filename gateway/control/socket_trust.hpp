#pragma once

#include <boost/asio/local/stream_protocol.hpp>

#include <sys/types.h>

#include <optional>
#include <string>

namespace agui::gateway {

/// The user at the other end of a Unix socket, as the kernel tells it; nullopt if it does not.
[[nodiscard]] std::optional<::uid_t> peer_user(boost::asio::local::stream_protocol::socket& socket
) noexcept;

/// Why others than `owner` and root could make files in the folder of the socket, or the owner of
/// the folder is somebody else; empty if only those two can.
[[nodiscard]] std::string problem_of_folder(const std::string& socket, ::uid_t owner);

/// True if `self` may send what is imported to the process of `peer` that serves the socket: it is
/// the same user or root. Root also trusts the user that alone can make files in the socket's
/// folder, because a gateway runs as the user that its folder belongs to.
[[nodiscard]] bool is_trusted_server(::uid_t self, ::uid_t peer, const std::string& socket);

} // namespace agui::gateway
