// bench-model-mock: a server of Chat Completions, Messages and Responses that streams numbered,
// time-stamped tokens at a fixed pace. One thread, plain epoll. Pacing is open loop: token k of a
// stream is due at the arrival of its request + delay + k * interval, however slowly anyone reads,
// and what a socket does not take is queued.

#include "session/base/ascii.hpp"
#include "tests/bench/arguments.hpp"
#include "tests/bench/clock.hpp"
#include "tests/bench/model_dialect.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agui::bench {
namespace {

constexpr std::size_t request_bytes_max = 33'554'432;
constexpr std::int64_t tokens_max = 1'000'000;
constexpr std::int64_t interval_ms_max = 60'000;
constexpr std::int64_t delay_ms_max = 600'000;

struct pace {
    std::int64_t tokens;
    std::int64_t interval_ns;
    std::int64_t delay_ns = 0; // from the request to the first token
};

struct connection {
    int fd = -1;
    std::uint64_t serial = 0;
    std::string input;
    std::string unsent;
    bool wants_writable = false;

    std::optional<model_answer> answer; // While it is streamed.
    pace stream_pace{};
    std::int64_t stream_start_ns = 0;
    std::int64_t next_token = 0;
};

// The next token of a stream. The serial tells whether the descriptor still belongs to that stream.
struct due_token {
    std::int64_t due_ns;
    int fd;
    std::uint64_t serial;

    friend bool operator>(const due_token& left, const due_token& right) {
        return left.due_ns > right.due_ns;
    }
};

int check(int result, const char* what) {
    if (result < 0) {
        throw std::system_error(errno, std::generic_category(), what);
    }
    return result;
}

// The number that follows `marker` in `text`, if there is one within [0, highest].
std::optional<std::int64_t>
number_after(std::string_view text, std::string_view marker, std::int64_t highest) {
    const std::size_t at = text.rfind(marker);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view digits = text.substr(at + marker.size());
    std::int64_t value = -1;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value >= 0 && value <= highest ? std::optional(value) : std::nullopt;
}

bool has_true_member(std::string_view body, std::string_view name) {
    const std::size_t at = body.find("\"" + std::string(name) + "\"");
    if (at == std::string_view::npos) {
        return false;
    }
    const std::size_t value = body.find_first_not_of(": \t\r\n", at + name.size() + 2);
    return value != std::string_view::npos && body.substr(value).starts_with("true");
}

void append_http_chunk(std::string& out, std::string_view payload) {
    std::array<char, 16> size{};
    const auto end = std::to_chars(size.data(), size.data() + size.size(), payload.size(), 16).ptr;
    out.append(size.data(), end).append("\r\n").append(payload).append("\r\n");
}

class model_mock {
public:
    model_mock(std::uint16_t port, pace default_pace)
        : default_pace_(default_pace),
          epoll_(check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
        listener_ = check(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
        const int on = 1;
        check(setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), "SO_REUSEADDR");
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        check(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
        check(listen(listener_, SOMAXCONN), "listen");
        watch(listener_, EPOLLIN, EPOLL_CTL_ADD);
    }

    model_mock(const model_mock&) = delete;
    model_mock& operator=(const model_mock&) = delete;

    [[nodiscard]] std::uint16_t port() const {
        sockaddr_in address{};
        socklen_t size = sizeof address;
        check(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
        return ntohs(address.sin_port);
    }

    [[noreturn]] void run() {
        std::array<epoll_event, 256> events{};
        while (true) {
            const int count = wait(events);
            for (int i = 0; i < count; ++i) {
                const epoll_event& event = events[static_cast<std::size_t>(i)];
                if (event.data.fd == listener_) {
                    accept_all();
                } else {
                    on_ready(event.data.fd, event.events);
                }
            }
            send_due();
        }
    }

private:
    int wait(std::array<epoll_event, 256>& events) {
        timespec timeout{};
        if (!schedule_.empty()) {
            const std::int64_t left = schedule_.top().due_ns - now_ns();
            timeout = to_timespec(std::max<std::int64_t>(left, 0));
        }
        const int count = epoll_pwait2(
            epoll_, events.data(), static_cast<int>(events.size()),
            schedule_.empty() ? nullptr : &timeout, nullptr
        );
        return count < 0 && errno == EINTR ? 0 : check(count, "epoll_pwait2");
    }

    void watch(int fd, std::uint32_t interest, int operation) const {
        epoll_event event{};
        event.events = interest;
        event.data.fd = fd;
        check(epoll_ctl(epoll_, operation, fd, &event), "epoll_ctl");
    }

    void accept_all() {
        while (true) {
            const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) {
                return;
            }
            const int on = 1;
            check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
            const auto slot = static_cast<std::size_t>(fd);
            if (slot >= connections_.size()) {
                connections_.resize(slot + 1);
            }
            connections_[slot] = std::make_unique<connection>();
            connections_[slot]->fd = fd;
            connections_[slot]->serial = ++last_serial_;
            watch(fd, EPOLLIN, EPOLL_CTL_ADD);
        }
    }

    connection* find(int fd) {
        const auto slot = static_cast<std::size_t>(fd);
        return slot < connections_.size() ? connections_[slot].get() : nullptr;
    }

    void drop(int fd) {
        connections_[static_cast<std::size_t>(fd)].reset();
        close(fd);
    }

    void on_ready(int fd, std::uint32_t events) {
        connection* const peer = find(fd);
        if (peer == nullptr) {
            return;
        }
        if ((events & EPOLLOUT) != 0 && !send_now(*peer)) {
            return;
        }
        if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) {
            return;
        }
        std::array<char, 16'384> buffer{};
        const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (got <= 0 || peer->input.size() > request_bytes_max) {
            drop(fd);
            return;
        }
        peer->input.append(buffer.data(), static_cast<std::size_t>(got));
        serve(*peer);
    }

    // Answers the request at the head of the input, if it is complete and no stream is running.
    void serve(connection& peer) {
        const std::size_t header_end = peer.input.find("\r\n\r\n");
        if (peer.answer || header_end == std::string::npos) {
            return;
        }
        const std::string header = to_lower(std::string_view(peer.input).substr(0, header_end + 2));
        const std::int64_t body_bytes =
            number_after(header, "\r\ncontent-length: ", request_bytes_max).value_or(0);
        const std::size_t total = header_end + 4 + static_cast<std::size_t>(body_bytes);
        if (peer.input.size() < total) {
            return;
        }
        const std::string body = peer.input.substr(header_end + 4, total - header_end - 4);
        peer.input.erase(0, total);
        if (header.starts_with("get /readyz ")) {
            answer(peer, "200 OK", R"({"ready":true})");
        } else if (const auto spoken = dialect_of(header); !spoken) {
            answer(peer, "404 Not Found", R"({"error":{"message":"no such route"}})");
        } else if (body.empty() || !has_true_member(body, "stream")) {
            answer(
                peer, "400 Bad Request",
                R"({"error":{"message":"only \"stream\":true with a Content-Length"}})"
            );
        } else {
            start_stream(peer, *spoken, body);
        }
    }

    void answer(connection& peer, std::string_view status, std::string_view json) {
        peer.unsent.append("HTTP/1.1 ").append(status);
        peer.unsent.append("\r\nContent-Type: application/json\r\nContent-Length: ");
        peer.unsent.append(std::to_string(json.size())).append("\r\n\r\n").append(json);
        if (send_now(peer)) {
            serve(peer);
        }
    }

    void start_stream(connection& peer, dialect spoken, std::string_view body) {
        // A prompt may set the length and pace of its answer, because gateways pass prompts on:
        // "[tokens=20 interval_ms=20 delay_ms=500]". The last mention counts. With " lockstep=1"
        // its tokens come at multiples of the interval, all streams at once, as from a server that
        // batches.
        peer.stream_pace.tokens =
            number_after(body, "[tokens=", tokens_max).value_or(default_pace_.tokens);
        const auto interval_ms = number_after(body, " interval_ms=", interval_ms_max);
        peer.stream_pace.interval_ns =
            interval_ms ? *interval_ms * ns_per_ms : default_pace_.interval_ns;
        peer.stream_pace.delay_ns =
            number_after(body, " delay_ms=", delay_ms_max).value_or(0) * ns_per_ms;
        peer.answer.emplace(spoken, ++streams_, has_true_member(body, "include_usage"));
        peer.next_token = 0;
        peer.unsent.append("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                           "Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n");
        append_http_chunk(peer.unsent, peer.answer->opening());
        peer.stream_start_ns = now_ns() + peer.stream_pace.delay_ns;
        if (number_after(body, " lockstep=", 1).value_or(0) == 1 &&
            peer.stream_pace.interval_ns > 0) {
            const std::int64_t beat = peer.stream_pace.interval_ns;
            peer.stream_start_ns = (peer.stream_start_ns + beat - 1) / beat * beat;
        }
        schedule_.push({peer.stream_start_ns, peer.fd, peer.serial});
        send_now(peer);
    }

    void send_due() {
        while (!schedule_.empty() && schedule_.top().due_ns <= now_ns()) {
            const due_token due = schedule_.top();
            schedule_.pop();
            connection* const peer = find(due.fd);
            if (peer != nullptr && peer->serial == due.serial && peer->answer) {
                send_next(*peer);
            }
        }
    }

    void send_next(connection& peer) {
        if (peer.next_token == peer.stream_pace.tokens) {
            end_stream(peer);
            return;
        }
        const std::int64_t index = peer.next_token++;
        schedule_.push(
            {peer.stream_start_ns + peer.next_token * peer.stream_pace.interval_ns, peer.fd,
             peer.serial}
        );
        // The stamp says when the token came into being: waiting in `unsent` counts as latency.
        append_http_chunk(peer.unsent, peer.answer->token(index, now_ns()));
        send_now(peer);
    }

    void end_stream(connection& peer) {
        append_http_chunk(peer.unsent, peer.answer->ending(peer.stream_pace.tokens));
        peer.unsent.append("0\r\n\r\n");
        peer.answer.reset();
        if (send_now(peer)) {
            serve(peer);
        }
    }

    // Sends what is queued. Returns false if the connection was lost; `peer` is gone then.
    bool send_now(connection& peer) {
        const ssize_t sent =
            send(peer.fd, peer.unsent.data(), peer.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            drop(peer.fd);
            return false;
        }
        peer.unsent.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
        const bool blocked = !peer.unsent.empty();
        if (blocked != peer.wants_writable) {
            peer.wants_writable = blocked;
            watch(peer.fd, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
        }
        return true;
    }

    pace default_pace_;
    int epoll_;
    int listener_ = -1;
    std::uint64_t last_serial_ = 0;
    std::uint64_t streams_ = 0;
    std::vector<std::unique_ptr<connection>> connections_; // by descriptor
    std::priority_queue<due_token, std::vector<due_token>, std::greater<>> schedule_;
};

int serve(int argc, char** argv) {
    const arguments given(argc, argv, {"--port", "--tokens", "--interval-ms"});
    const auto port = static_cast<std::uint16_t>(given.number("--port", 0, {0, 65'535}));
    const pace default_pace{
        .tokens = given.number("--tokens", 100, {0, tokens_max}),
        .interval_ns = given.number("--interval-ms", 20, {0, interval_ms_max}) * ns_per_ms,
    };
    // The default slack of 50 us would make every token late.
    prctl(PR_SET_TIMERSLACK, 1UL);
    model_mock mock(port, default_pace);
    std::printf("listening on 127.0.0.1:%d\n", static_cast<int>(mock.port()));
    std::fflush(stdout);
    mock.run();
}

} // namespace
} // namespace agui::bench

int main(int argc, char** argv) {
    try {
        return agui::bench::serve(argc, argv);
    } catch (const agui::bench::usage_error& error) {
        std::fprintf(
            stderr,
            "bench-model-mock: %s\nusage: bench-model-mock --port P [--tokens 100] "
            "[--interval-ms 20]\n",
            error.what()
        );
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench-model-mock: %s\n", error.what());
        return 1;
    }
}
