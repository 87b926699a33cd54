#include "gateway/http/file_body.hpp"

#include <boost/asio/error.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

constexpr std::size_t chunk_bytes = 65'536;

boost::system::error_code last_error() noexcept {
    return {errno, boost::system::system_category()};
}

} // namespace

file_body::~file_body() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
}

file_body& file_body::operator=(file_body&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(offset_, other.offset_);
    std::swap(size_, other.size_);
    return *this;
}

void file_body::keep(std::uint64_t first, std::uint64_t size) noexcept {
    offset_ += first;
    size_ = size;
}

// Not sendfile(): it has no flag against SIGPIPE, which an embedding program may not ignore. Bytes
// that the socket does not take are read again, so all files of a thread share one buffer.
void file_body::send_some(int socket, boost::system::error_code& ec) noexcept {
    thread_local std::array<char, chunk_bytes> buffer;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size_, buffer.size()));
    const ssize_t read = ::pread(descriptor_, buffer.data(), wanted, static_cast<off_t>(offset_));
    if (read <= 0) {
        ec = read == 0 ? boost::system::error_code(asio::error::eof) : last_error();
        return;
    }
    const ssize_t sent =
        ::send(socket, buffer.data(), static_cast<std::size_t>(read), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
        ec = last_error();
        if (ec == asio::error::would_block || ec == asio::error::try_again ||
            ec == asio::error::interrupted) {
            ec.clear();
        }
        return;
    }
    offset_ += static_cast<std::uint64_t>(sent);
    size_ -= static_cast<std::uint64_t>(sent);
}

} // namespace agui::gateway
