#include "tests/session/postgres/cutting_proxy.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace agui::test {

namespace {

constexpr int look_around = 20; // Milliseconds.

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        throw std::runtime_error("the path of a socket is too long");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
}

const sockaddr* generic(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

std::string read_some(int from) {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::recv(from, buffer.data(), buffer.size(), 0);
    return count <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(count));
}

bool write_all(int to, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

} // namespace

cutting_proxy::cutting_proxy(std::string server) : server_(std::move(server)) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un address = address_of(folder_.file(".s.PGSQL.5432"));
    if (listener_ < 0 || ::bind(listener_, generic(address), sizeof(address)) != 0 ||
        ::listen(listener_, 64) != 0) {
        throw std::runtime_error("cannot listen for the proxy");
    }
    thread_ = std::thread([this] { accept(); });
}

cutting_proxy::~cutting_proxy() {
    is_closing_ = true;
    thread_.join();
    ::close(listener_);
}

void cutting_proxy::accept() {
    while (!is_closing_) {
        pollfd waiting{listener_, POLLIN, 0};
        if (::poll(&waiting, 1, look_around) > 0) {
            const int client = ::accept(listener_, nullptr, nullptr);
            const int number = ++accepted_;
            connections_.emplace_back([this, client, number] { pass(client, number); });
        }
    }
    for (std::thread& each : connections_) {
        each.join();
    }
}

void cutting_proxy::pass(int client, int number) {
    const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un address = address_of(server_);
    bool is_open =
        !is_away_ && server >= 0 && ::connect(server, generic(address), sizeof(address)) == 0;
    while (is_open && !is_away_ && !is_closing_) {
        if (number <= silent_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(look_around));
            continue;
        }
        std::array<pollfd, 2> waiting{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
        (void)::poll(waiting.data(), waiting.size(), look_around);
        if (waiting[0].revents != 0) {
            is_open = pass_request(client, server);
        }
        if (is_open && waiting[1].revents != 0) {
            const std::string answer = read_some(server);
            is_open = !answer.empty() && write_all(client, answer);
        }
    }
    ::close(server);
    ::close(client);
}

bool cutting_proxy::is_due(const std::string& request) {
    const std::lock_guard lock(mutex_);
    return how_ != cut::never && request.find(other_) != std::string::npos &&
           request.find(word_) != std::string::npos;
}

// Both sides poll, because no thread of the proxy can wake another.
bool cutting_proxy::pass_later(int client, const std::string& answer) {
    ++held_;
    ++cuts_;
    while (how_ == cut::held && !is_closing_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const bool is_open = write_all(client, answer);
    --held_;
    return is_open;
}

void cutting_proxy::let_go() {
    how_ = cut::never;
    while (held_ > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

bool cutting_proxy::pass_request(int client, int server) {
    const std::string request = read_some(client);
    if (request.empty()) {
        return false;
    }
    if (!is_due(request) || left_.fetch_sub(1) <= 0) {
        return write_all(server, request);
    }
    const bool is_sent = how_ != cut::before && write_all(server, request);
    if (is_sent && how_ != cut::midway) {
        // The answer of a committed batch ends with ReadyForQuery, state idle.
        std::string answer;
        while (!answer.ends_with(std::string_view("Z\0\0\0\5I", 6))) {
            const std::string more = read_some(server);
            if (more.empty()) {
                break;
            }
            answer += more;
        }
        if (how_ == cut::held) {
            return pass_later(client, answer);
        }
        is_away_ = how_ == cut::away;
    }
    ++cuts_;
    return false;
}

} // namespace agui::test
