#include "gateway/control/socket_trust.hpp"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace agui::gateway {

namespace {

std::string folder_of(const std::string& socket) {
    const std::filesystem::path parent = std::filesystem::path(socket).parent_path();
    return parent.empty() ? "." : parent.string();
}

} // namespace

std::optional<::uid_t> peer_user(boost::asio::local::stream_protocol::socket& socket) noexcept {
    ::ucred peer{};
    ::socklen_t size = sizeof peer;
    const int outcome = ::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return outcome == 0 ? std::optional(peer.uid) : std::nullopt;
}

std::string problem_of_folder(const std::string& socket, ::uid_t owner) {
    const std::string folder = folder_of(socket);
    struct ::stat found{};
    if (::stat(folder.c_str(), &found) != 0) {
        return folder + ": " + std::generic_category().message(errno);
    }
    if (found.st_uid != owner && found.st_uid != 0) {
        return folder + ": the folder must belong to the user of the gateway, or to root";
    }
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return folder + ": the folder must not be writable by others (chmod go-w)";
    }
    return {};
}

bool is_trusted_server(::uid_t self, ::uid_t peer, const std::string& socket) {
    if (peer == self || peer == 0) {
        return true;
    }
    struct ::stat folder{};
    return self == 0 && problem_of_folder(socket, peer).empty() &&
           ::stat(folder_of(socket).c_str(), &folder) == 0 && folder.st_uid == peer;
}

} // namespace agui::gateway
