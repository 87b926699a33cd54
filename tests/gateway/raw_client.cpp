#include "tests/gateway/raw_client.hpp"

#include "session/base/ascii.hpp"
#include "tests/support/patience.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace agui::test {

raw_client::raw_client(std::uint16_t port, int receive_buffer, const char* to)
    : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = ::inet_addr(to);
    const timeval limit{patience.count(), 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (receive_buffer > 0) {
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        throw std::runtime_error("cannot connect");
    }
}

raw_client::~raw_client() { close(); }

void raw_client::close() {
    if (socket_ >= 0) {
        ::close(socket_);
        socket_ = -1;
    }
}

void raw_client::close_sending() const { ::shutdown(socket_, SHUT_WR); }

bool raw_client::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

bool raw_client::fill() {
    char buffer[16'384];
    const ssize_t count = ::recv(socket_, buffer, sizeof(buffer), 0);
    if (count <= 0) {
        return false;
    }
    received_.append(buffer, static_cast<std::size_t>(count));
    return true;
}

std::string raw_client::take(std::size_t count) {
    while (received_.size() < count && fill()) {
    }
    std::string taken = received_.substr(0, count);
    received_.erase(0, taken.size());
    return taken;
}

std::string raw_client::take_line() {
    std::string line = read_until("\r\n");
    if (line.ends_with("\r\n")) {
        line.resize(line.size() - 2);
    }
    return line;
}

std::string raw_client::read_until(std::string_view text) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    std::size_t at = received_.find(text);
    while (at == std::string::npos && std::chrono::steady_clock::now() < deadline && fill()) {
        at = received_.find(text);
    }
    return take(at == std::string::npos ? received_.size() : at + text.size());
}

std::string raw_client::read_once() {
    if (received_.empty()) {
        (void)fill();
    }
    return std::exchange(received_, {});
}

raw_reply raw_client::read_head() {
    raw_reply reply;
    const std::string status = take_line();
    if (status.size() < 12) {
        return reply;
    }
    reply.status = std::stoi(status.substr(9, 3));
    for (std::string line = take_line(); !line.empty(); line = take_line()) {
        const std::size_t colon = line.find(": ");
        reply.headers[to_lower(line.substr(0, colon))] = line.substr(colon + 2);
    }
    return reply;
}

void raw_client::read_body(raw_reply& reply) {
    if (reply.header("transfer-encoding") == "chunked") {
        for (;;) {
            const std::string line = take_line();
            if (line.empty()) {
                return;
            }
            const std::size_t size = std::stoul(line, nullptr, 16);
            reply.body += take(size);
            const bool ended = take(2) == "\r\n";
            if (size == 0 || !ended) {
                reply.complete = ended;
                return;
            }
        }
    }
    if (reply.headers.contains("content-length")) {
        const std::size_t size = std::stoul(reply.header("content-length"));
        reply.body = take(size);
        reply.complete = reply.body.size() == size;
        return;
    }
    while (fill()) {
    }
    reply.body = std::exchange(received_, {});
    reply.complete = true;
}

raw_reply raw_client::read_reply(bool without_body) {
    raw_reply reply = read_head();
    if (without_body || reply.status < 200 || reply.status == 204 || reply.status == 304) {
        reply.complete = reply.status != 0;
    } else {
        read_body(reply);
    }
    return reply;
}

bool raw_client::read_slowly(std::size_t bytes, std::chrono::milliseconds pause, int times) {
    std::string buffer(bytes, '\0');
    for (int i = 0; i != times; ++i) {
        const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
        if (count <= 0) {
            return false;
        }
        received_.append(buffer, 0, static_cast<std::size_t>(count));
        std::this_thread::sleep_for(pause);
    }
    return true;
}

void raw_client::wait_for_reset() const {
    pollfd watched{socket_, 0, 0}; // POLLERR and POLLHUP are reported without being requested.
    (void)::poll(&watched, 1, static_cast<int>(std::chrono::milliseconds(patience).count()));
}

bool raw_client::closed_by_peer() {
    char byte = 0;
    return received_.empty() && ::recv(socket_, &byte, 1, 0) == 0;
}

} // namespace agui::test
