#pragma once

#include <boost/system/error_code.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace agui::gateway {

/// The unsent bytes of an open file. They are read when the peer takes them, so a slow reader holds
/// a descriptor but no memory. Owns the descriptor.
class file_body {
public:
    /// Takes over the descriptor of a regular file of that size.
    file_body(int descriptor, std::uint64_t size) noexcept : descriptor_(descriptor), size_(size) {}
    ~file_body();
    file_body(file_body&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)),
          offset_(other.offset_),
          size_(other.size_) {}
    file_body& operator=(file_body&& other) noexcept;

    /// Keeps only `size` bytes from offset `first` on, all of which must exist.
    void keep(std::uint64_t first, std::uint64_t size) noexcept;

    /// Number of bytes left.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// Sends as much of the next 64 KB as the socket takes without waiting, which may be nothing.
    /// `ec` is eof if the file has become shorter. Blocks while it reads the file.
    void send_some(int socket, boost::system::error_code& ec) noexcept;

private:
    int descriptor_;
    std::uint64_t offset_ = 0;
    std::uint64_t size_;
};

} // namespace agui::gateway
