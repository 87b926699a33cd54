#include "tests/bench/round.hpp"

#include "tests/bench/clock.hpp"
#include "tests/bench/protobuf_checker.hpp"
#include "tests/bench/sse_decoder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace agui::bench {
namespace {

constexpr std::size_t receive_bytes = 65'536;
constexpr std::int64_t late_ns_max = 30 * ns_per_second;
constexpr std::int64_t late_token_ns = 50 * ns_per_ms;

int check(int result, const char* what) {
    if (result < 0) {
        throw std::system_error(errno, std::generic_category(), what);
    }
    return result;
}

// One request on its own connection, and the check of its answer.
struct stream {
    std::int64_t start_ns = 0; // after the start of the round; for a fanout, of its run
    std::int64_t opened_ns = 0;
    std::int64_t attached_ns = 0; // when the first event had arrived; 0 before
    std::string unsent;
    std::unique_ptr<token_times> own_times; // of pairs
    std::unique_ptr<event_checker> checker;
    std::unique_ptr<sse_decoder> decoder;
    int fd = -1;
};

std::string request_head(const round_plan& plan, std::string_view method, std::string_view path) {
    std::string head(method);
    return head.append(" ")
        .append(path)
        .append(" HTTP/1.1\r\nHost: ")
        .append(plan.host + ":" + std::to_string(plan.port))
        .append(
            plan.kind == stream_kind::protobuf ? "\r\nAccept: application/vnd.ag-ui.event+proto\r\n"
                                               : "\r\nAccept: text/event-stream\r\n"
        );
}

std::string http_post(const round_plan& plan, std::string_view body) {
    return request_head(plan, "POST", plan.path)
        .append("Content-Type: application/json\r\nContent-Length: ")
        .append(std::to_string(body.size()))
        .append("\r\n\r\n")
        .append(body);
}

// Reads the run that another stream has started, from its first event on.
std::string http_get_events(const round_plan& plan, const event_checker::expectation& expected) {
    return request_head(
               plan, "GET",
               plan.path + "/threads/" + expected.thread_id + "/runs/" + expected.run_id +
                   "/events?after=0"
    )
        .append("\r\n");
}

// Messages by turns of the user and the assistant, each followed by a comma.
std::string history_messages(const round_plan& plan, const std::string& thread_id) {
    const auto content_bytes = static_cast<std::size_t>(plan.history_bytes);
    std::string messages;
    for (std::int64_t i = 0; i < plan.history; ++i) {
        const std::string number = std::to_string(i);
        std::string content = "Message ";
        content.append(number).append(" of ").append(thread_id).append(".");
        while (content.size() < content_bytes) {
            content += " More of the same.";
        }
        content.resize(content_bytes);
        messages.append(R"({"id":"history-)").append(number).append(R"(","role":")");
        messages.append(i % 2 == 0 ? "user" : "assistant");
        messages.append(R"(","content":")").append(content).append(R"("},)");
    }
    return messages;
}

std::string agui_body(
    const round_plan& plan, const event_checker::expectation& expected, const std::string& prompt
) {
    return R"({"threadId":")" + expected.thread_id + R"(","runId":")" + expected.run_id +
           R"(","state":{},"messages":[)" + history_messages(plan, expected.thread_id) +
           R"({"id":"message-of-)" + expected.run_id + R"(","role":"user","content":")" + prompt +
           R"("}],"tools":[],"context":[],"forwardedProps":{}})";
}

std::string chat_body(
    const round_plan& plan, const event_checker::expectation& expected, const std::string& prompt
) {
    return R"({"sessionId":")" + expected.thread_id + R"(","messageId":")" + expected.run_id +
           R"(","message":")" + prompt + R"(","responseMode":")" +
           (plan.kind == stream_kind::chat_full ? "full" : "incremental") + R"("})";
}

std::string openai_body(const std::string& prompt) {
    return R"({"model":"mock","stream":true,"stream_options":{"include_usage":true},)"
           R"("messages":[{"role":"user","content":")" +
           prompt + R"("}]})";
}

stream make_stream(const round_plan& plan, std::int64_t number, token_times& times) {
    // This number is unique among all runs of all rounds against one server.
    const std::int64_t run = plan.kind == stream_kind::fanout  ? 0
                             : plan.kind == stream_kind::pairs ? number - number % 2
                                                               : number;
    const std::string mark =
        (plan.mark.empty() ? std::to_string(getpid()) : plan.mark) + "-" + std::to_string(run);
    event_checker::expectation expected{
        .tokens = static_cast<std::uint32_t>(plan.tokens),
        .interval_ns = plan.interval_ms * ns_per_ms,
        .thread_id = "bench-thread-" + mark,
        .run_id = "bench-run-" + std::to_string(getpid()) + "-" + mark,
    };
    const std::string prompt = "Count, please. [tokens=" + std::to_string(plan.tokens) +
                               " interval_ms=" + std::to_string(plan.interval_ms) +
                               " delay_ms=" + std::to_string(plan.delay_ns / ns_per_ms) +
                               (plan.lockstep ? " lockstep=1]" : "]");
    stream made;
    if (plan.kind == stream_kind::openai) {
        made.unsent = http_post(plan, openai_body(prompt));
        made.checker = std::make_unique<openai_checker>(std::move(expected), times);
    } else if (plan.kind == stream_kind::chat || plan.kind == stream_kind::chat_full) {
        made.unsent = http_post(plan, chat_body(plan, expected, prompt));
        made.checker = std::make_unique<chat_checker>(
            std::move(expected), times, plan.kind == stream_kind::chat_full
        );
    } else if (plan.kind == stream_kind::protobuf) {
        made.unsent = http_post(plan, agui_body(plan, expected, prompt));
        made.checker = std::make_unique<protobuf_checker>(std::move(expected), times);
    } else {
        made.unsent = number == run ? http_post(plan, agui_body(plan, expected, prompt))
                                    : http_get_events(plan, expected);
        if (plan.kind == stream_kind::pairs) {
            made.own_times = std::make_unique<token_times>();
        }
        made.checker = std::make_unique<agui_checker>(
            std::move(expected), made.own_times ? *made.own_times : times
        );
    }
    made.decoder = std::make_unique<sse_decoder>(*made.checker);
    return made;
}

} // namespace

class round_runner::state {
public:
    state(const round_plan& plan, token_times& times)
        : plan_(plan),
          epoll_(check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
          buffer_(receive_bytes) {
        std::mt19937_64 random(std::random_device{}());
        const std::int64_t slot_ns = plan.spread_ns / plan.streams;
        std::uniform_int_distribution<std::int64_t> jitter(
            0, std::max<std::int64_t>(slot_ns - 1, 0)
        );
        streams_.reserve(static_cast<std::size_t>(plan.streams));
        for (std::int64_t i = 0; i < plan.streams; ++i) {
            streams_.push_back(make_stream(plan, i, times));
            streams_.back().start_ns = i * slot_ns + jitter(random);
        }
    }

    ~state() {
        for (const stream& each : streams_) {
            if (each.fd >= 0) {
                close(each.fd);
            }
        }
        close(epoll_);
    }

    state(const state&) = delete;
    state& operator=(const state&) = delete;

    void run() {
        begin_ns_ = now_ns();
        const std::int64_t deadline_ns = begin_ns_ + plan_.spread_ns + plan_.delay_ns +
                                         plan_.tokens * plan_.interval_ms * ns_per_ms + late_ns_max;
        std::size_t next = 0;
        std::array<epoll_event, 256> events{};
        while (next < streams_.size() || open_ > 0) {
            while (next < streams_.size() && may_open(next) && due_ns(next) <= now_ns()) {
                open(next++);
            }
            const std::int64_t wake_ns =
                next < streams_.size() && may_open(next) ? due_ns(next) : deadline_ns;
            const timespec timeout = to_timespec(std::max<std::int64_t>(wake_ns - now_ns(), 0));
            const int count = epoll_pwait2(
                epoll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr
            );
            if (count < 0 && errno != EINTR) {
                check(count, "epoll_pwait2");
            }
            for (int i = 0; i < count; ++i) {
                const epoll_event& event = events[static_cast<std::size_t>(i)];
                on_ready(event.data.u64, event.events);
            }
            if (now_ns() > deadline_ns) {
                throw void_round(
                    std::to_string(open_) + " streams had not ended 30 s after their time"
                );
            }
        }
    }

    /// In a round of pairs, takes only the times of the streams that started the runs.
    void take_times(token_times& times) const {
        for (std::size_t i = 0; i < streams_.size() && plan_.kind == stream_kind::pairs; i += 2) {
            const token_times& own = *streams_[i].own_times;
            times.latency_ns.insert(
                times.latency_ns.end(), own.latency_ns.begin(), own.latency_ns.end()
            );
            times.mock_late_ns.insert(
                times.mock_late_ns.end(), own.mock_late_ns.begin(), own.mock_late_ns.end()
            );
        }
    }

    [[nodiscard]] std::int64_t open_peak() const { return open_peak_; }
    [[nodiscard]] std::int64_t receives() const { return receives_; }
    [[nodiscard]] std::int64_t received_bytes() const { return received_bytes_; }
    [[nodiscard]] std::vector<std::int64_t> first_event_ns() const {
        std::vector<std::int64_t> waits;
        for (const stream& each : streams_) {
            waits.push_back(each.attached_ns - each.opened_ns);
        }
        return waits;
    }

    [[nodiscard]] pair_times pairs() const {
        pair_times all;
        for (std::size_t i = 1; i < streams_.size() && plan_.kind == stream_kind::pairs; i += 2) {
            const stream& reader = streams_[i];
            const token_times& here = *streams_[i - 1].own_times;
            const token_times& there = *reader.own_times;
            all.attach_ns.push_back(reader.attached_ns - reader.opened_ns);
            bool is_late = false;
            for (std::size_t token = 0; token < there.received_ns.size(); ++token) {
                const std::int64_t latency = there.latency_ns[token];
                if (there.received_ns[token] - latency > reader.attached_ns) {
                    all.latency_ns.push_back(latency);
                    is_late = is_late || latency > here.latency_ns[token] + late_token_ns;
                }
            }
            all.late_readers += is_late ? 1 : 0;
        }
        return all;
    }

private:
    [[nodiscard]] std::uint16_t port_of(std::size_t index) const {
        if (is_reader(index) && plan_.reader_port != 0) {
            return plan_.reader_port;
        }
        return index % 2 == 1 && plan_.second_port != 0 ? plan_.second_port : plan_.port;
    }

    [[nodiscard]] bool is_reader(std::size_t index) const {
        return plan_.kind == stream_kind::fanout
                   ? index > 0
                   : plan_.kind == stream_kind::pairs && index % 2 == 1;
    }
    // The stream that started the run that this one reads.
    [[nodiscard]] const stream& starter_of(std::size_t index) const {
        return plan_.kind == stream_kind::fanout ? streams_.front() : streams_[index - 1];
    }
    [[nodiscard]] bool may_open(std::size_t index) const {
        return !is_reader(index) || starter_of(index).attached_ns != 0;
    }
    [[nodiscard]] std::int64_t due_ns(std::size_t index) const {
        const bool is_fanout = plan_.kind == stream_kind::fanout && is_reader(index);
        return (is_fanout ? starter_of(index).attached_ns : begin_ns_) + streams_[index].start_ns;
    }

    [[noreturn]] static void fail(std::size_t index, const std::string& what) {
        throw void_round("stream " + std::to_string(index) + ": " + what);
    }

    void watch(std::size_t index, std::uint32_t interest, int operation) const {
        epoll_event event{};
        event.events = interest;
        event.data.u64 = index;
        check(epoll_ctl(epoll_, operation, streams_[index].fd, &event), "epoll_ctl");
    }

    void open(std::size_t index) {
        stream& opened = streams_[index];
        opened.fd = check(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
        const int on = 1;
        check(setsockopt(opened.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port_of(index));
        inet_pton(AF_INET, plan_.host.c_str(), &address.sin_addr);
        if (connect(opened.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 &&
            errno != EINPROGRESS) {
            fail(index, std::string("connect: ") + std::strerror(errno));
        }
        watch(index, EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD);
        open_peak_ = std::max(open_peak_, ++open_);
        opened.opened_ns = now_ns();
    }

    void on_ready(std::size_t index, std::uint32_t events) {
        if ((events & EPOLLOUT) != 0) {
            send_request(index);
        }
        if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) {
            receive(index);
        }
    }

    void send_request(std::size_t index) {
        stream& sending = streams_[index];
        const ssize_t sent =
            send(sending.fd, sending.unsent.data(), sending.unsent.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            fail(index, std::string("send: ") + std::strerror(errno));
        }
        sending.unsent.erase(0, static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
        if (sending.unsent.empty()) {
            watch(index, EPOLLIN, EPOLL_CTL_MOD);
        }
    }

    void receive(std::size_t index) {
        stream& reading = streams_[index];
        const ssize_t got = recv(reading.fd, buffer_.data(), buffer_.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        const std::int64_t received_ns = now_ns();
        reading.checker->set_receive_time(received_ns);
        ++receives_;
        received_bytes_ += std::max<ssize_t>(got, 0);
        if (got <= 0) {
            fail(
                index, std::string(got < 0 ? std::strerror(errno) : "connection closed") +
                           " before the last chunk, after " +
                           std::to_string(reading.checker->tokens_seen()) + " tokens"
            );
        }
        if (!reading.decoder->feed({buffer_.data(), static_cast<std::size_t>(got)})) {
            fail(index, reading.decoder->error());
        }
        if (reading.attached_ns == 0 && reading.decoder->events_seen()) {
            reading.attached_ns = received_ns;
        }
        if (reading.decoder->complete()) {
            if (const std::string missing = reading.checker->at_end(); !missing.empty()) {
                fail(index, missing);
            }
            if (plan_.kind == stream_kind::fanout && is_reader(index) &&
                reading.attached_ns > reading.checker->first_stamp_ns()) {
                fail(index, "attached after the first token of its run");
            }
            close(std::exchange(reading.fd, -1));
            --open_;
        }
    }

    const round_plan plan_;
    int epoll_;
    std::vector<char> buffer_;
    std::vector<stream> streams_;
    std::int64_t begin_ns_ = 0;
    std::int64_t open_ = 0;
    std::int64_t open_peak_ = 0;
    std::int64_t receives_ = 0;
    std::int64_t received_bytes_ = 0;
};

round_runner::round_runner(const round_plan& plan, token_times& times)
    : times_(times), state_(std::make_unique<state>(plan, times)) {}

round_runner::~round_runner() = default;

void round_runner::run() {
    state_->run();
    state_->take_times(times_);
}

std::int64_t round_runner::open_peak() const { return state_->open_peak(); }

std::int64_t round_runner::receives() const { return state_->receives(); }

std::int64_t round_runner::received_bytes() const { return state_->received_bytes(); }
std::vector<std::int64_t> round_runner::first_event_ns() const { return state_->first_event_ns(); }
pair_times round_runner::pairs() const { return state_->pairs(); }

} // namespace agui::bench
