#pragma once

#include "session/base/log.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <sys/types.h>

#include <functional>
#include <string>

namespace agui::gateway {

/// A Unix socket (mode 0600) that accepts connections of its own user and of root. Used on its
/// executor only. Must live until the executor has no more work.
class control_socket {
public:
    /// A connection, and the user at its other end. The kernel treats both families alike in all
    /// calls of http_connection: the peer's address is the unspecified one.
    using add_function = std::function<void(boost::asio::ip::tcp::socket, ::uid_t)>;

    /// Makes the socket. Its folder must belong to this user or to root, and nobody else may write
    /// to it. A socket that nobody serves is replaced. Throws std::runtime_error: the folder is not
    /// safe, the path is taken by a served socket or by another file, or the system refuses. While
    /// it lives, there is also a file PATH.lock.
    control_socket(
        const boost::asio::any_io_executor& executor, std::string path, add_function add,
        logger& log
    );
    /// Removes the socket, unless something else has its path by now.
    ~control_socket();
    control_socket(const control_socket&) = delete;
    control_socket& operator=(const control_socket&) = delete;

    /// Accepts until close().
    [[nodiscard]] boost::asio::awaitable<void> run();
    void close();

private:
    void take_lock();
    void remove_lock() const noexcept;
    void make();
    void take(boost::asio::local::stream_protocol::socket accepted);

    const std::string path_;
    boost::asio::local::stream_protocol::acceptor acceptor_;
    add_function add_;
    logger& log_;
    int lock_ = -1;      ///< Descriptor of the file PATH.lock.
    ::dev_t device_ = 0; ///< These two identify the socket that this object made.
    ::ino_t inode_ = 0;
};

} // namespace agui::gateway
