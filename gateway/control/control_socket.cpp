#include "gateway/control/control_socket.hpp"

#include "gateway/control/socket_trust.hpp"
#include "session/base/as_result.hpp"
#include "session/base/pause.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
using asio::local::stream_protocol;

namespace {

constexpr int control_backlog = 16;
/// Pause after an error, such as a lack of descriptors.
constexpr std::chrono::milliseconds control_pause{100};

[[noreturn]] void cannot_listen(const std::string& path, const std::string& reason) {
    throw std::runtime_error("server.control_socket: cannot listen on " + path + ": " + reason);
}

std::string reason_of(int error) { return std::generic_category().message(error); }

/// Throws unless only this user and root can make files in the folder of the socket.
void check_folder_of(const std::string& socket) {
    if (const std::string problem = problem_of_folder(socket, ::geteuid()); !problem.empty()) {
        cannot_listen(socket, problem);
    }
}

bool is_same_file(const struct ::stat& one, const struct ::stat& other) noexcept {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// True if a process serves the socket. Does not wait for one that is busy.
bool is_served(const std::string& path) {
    asio::io_context context;
    stream_protocol::socket probe(context);
    boost::system::error_code ec;
    probe.open(stream_protocol(), ec);
    probe.native_non_blocking(true, ec);
    probe.connect(stream_protocol::endpoint(path), ec);
    return ec != asio::error::connection_refused;
}

/// False for a peer with a path or a name, which an address of TCP could not hold. Clients have
/// none unless they ask for it.
bool is_unnamed(stream_protocol::socket& socket) {
    ::sockaddr_un address{};
    ::socklen_t size = sizeof address;
    return ::getpeername(socket.native_handle(), reinterpret_cast<::sockaddr*>(&address), &size) ==
               0 &&
           size <= sizeof(::sa_family_t);
}

} // namespace

control_socket::control_socket(
    const asio::any_io_executor& executor, std::string path, add_function add, logger& log
)
    : path_(std::move(path)), acceptor_(executor), add_(std::move(add)), log_(log) {
    check_folder_of(path_);
    take_lock();
    try {
        make();
    } catch (...) {
        remove_lock();
        throw;
    }
}

// Its holder alone may replace the socket. The kernel frees it with the process.
void control_socket::take_lock() {
    const std::string name = path_ + ".lock";
    for (;;) {
        lock_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
        if (lock_ < 0) {
            cannot_listen(path_, name + ": " + reason_of(errno));
        }
        if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
            const int error = errno;
            ::close(lock_);
            cannot_listen(
                path_, error == EWOULDBLOCK ? "another process serves it" : reason_of(error)
            );
        }
        struct ::stat held{};
        struct ::stat found{};
        if (::fstat(lock_, &held) == 0 && ::lstat(name.c_str(), &found) == 0 &&
            is_same_file(held, found)) {
            return;
        }
        ::close(lock_); // Its last holder has removed it.
    }
}

void control_socket::remove_lock() const noexcept {
    ::unlink((path_ + ".lock").c_str());
    ::close(lock_);
}

void control_socket::make() {
    struct ::stat found{};
    if (::lstat(path_.c_str(), &found) == 0) {
        if (!S_ISSOCK(found.st_mode)) {
            cannot_listen(path_, "there is another file");
        }
        if (is_served(path_)) {
            cannot_listen(path_, "another process serves it");
        }
        if (::unlink(path_.c_str()) != 0) {
            cannot_listen(path_, reason_of(errno));
        }
    }
    boost::system::error_code ec;
    acceptor_.open(stream_protocol(), ec);
    if (!ec) {
        acceptor_.bind(stream_protocol::endpoint(path_), ec);
    }
    if (ec) {
        cannot_listen(path_, ec.message());
    }
    // Before listen(): until then, every connection is refused.
    if (::chmod(path_.c_str(), S_IRUSR | S_IWUSR) != 0 || ::lstat(path_.c_str(), &found) != 0) {
        cannot_listen(path_, reason_of(errno));
    }
    device_ = found.st_dev;
    inode_ = found.st_ino;
    acceptor_.listen(control_backlog, ec);
    if (ec) {
        cannot_listen(path_, ec.message());
    }
}

control_socket::~control_socket() {
    struct ::stat found{};
    if (::lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_) {
        ::unlink(path_.c_str());
    }
    remove_lock();
}

asio::awaitable<void> control_socket::run() {
    while (acceptor_.is_open()) {
        auto [ec, accepted] = co_await acceptor_.async_accept(as_result);
        if (!acceptor_.is_open()) {
            co_return;
        }
        if (!ec) {
            take(std::move(accepted));
            continue;
        }
        log_.log(
            log_level::error, "cannot accept connections of the control socket",
            {{"error", ec.message()}}
        );
        co_await pause(control_pause);
    }
}

void control_socket::take(stream_protocol::socket accepted) {
    const std::optional<::uid_t> peer = peer_user(accepted);
    if (!peer || (*peer != ::geteuid() && *peer != 0) || !is_unnamed(accepted)) {
        log_.log(
            log_level::warning, "a connection to the control socket was refused",
            {{"uid", peer ? std::to_string(*peer) : "unknown"}}
        );
        return;
    }
    boost::system::error_code ec;
    asio::ip::tcp::socket socket(acceptor_.get_executor());
    const int descriptor = accepted.release(ec);
    if (ec) {
        return;
    }
    socket.assign(asio::ip::tcp::v6(), descriptor, ec);
    if (ec) {
        ::close(descriptor);
        return;
    }
    add_(std::move(socket), *peer);
}

void control_socket::close() {
    boost::system::error_code ignored; // The socket is closed even if an error is reported.
    acceptor_.close(ignored);
}

} // namespace agui::gateway
