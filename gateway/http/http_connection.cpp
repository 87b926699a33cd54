#include "gateway/http/http_connection.hpp"

#include "session/base/as_result.hpp"
#include "session/base/ascii.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t head_read_bytes = 4096;

/// Returns true if a Connection header lists the option.
bool lists_option(const http_request& request, std::string_view option) {
    for (const auto& [name, value] : request.headers) {
        if (name != "connection") {
            continue;
        }
        std::string_view rest = value;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(','), rest.size());
            std::string_view token = rest.substr(0, end);
            while (token.starts_with(' ') || token.starts_with('\t')) {
                token.remove_prefix(1);
            }
            while (token.ends_with(' ') || token.ends_with('\t')) {
                token.remove_suffix(1);
            }
            if (equal_ignoring_case(token, option)) {
                return true;
            }
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return false;
}

} // namespace

http_connection::http_connection(
    tcp::socket socket, std::unique_ptr<connection_places::place> place,
    const connection_services& services, const time_point& now
)
    : place_(std::move(place)),
      socket_(std::move(socket)),
      services_(services),
      now_(now),
      since_(now) {
    boost::system::error_code ignored; // If the peer has already left, the first read fails.
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.non_blocking(true, ignored);
    boost::system::error_code has_left;
    const tcp::endpoint peer = socket_.remote_endpoint(has_left);
    if (!has_left) {
        peer_ = peer.address();
    }
}

asio::awaitable<void> http_connection::run() {
    place_->on_evict([executor = socket_.get_executor(), weak = weak_from_this()] {
        asio::post(executor, [weak] {
            if (const auto self = weak.lock()) {
                self->evict();
            }
        });
    });
    for (;;) {
        const bool has_reply = co_await take_request();
        if (!has_reply) {
            break;
        }
        bool go_on = false;
        if (std::holds_alternative<stream_reply>(reply_)) {
            go_on = co_await (without_body_ ? send_stream_head() : send_stream());
        } else {
            go_on = co_await send_reply();
        }
        end_access();
        if (!go_on) {
            co_await linger();
            break;
        }
    }
    close();
}

// Returns false if the connection is over. Otherwise reply_ must be sent. The request's memory is
// freed on return, so that a stream does not hold it.
asio::awaitable<bool> http_connection::take_request() {
    reply_ = std::monostate{};
    terms_ = reply_terms{};
    without_body_ = false;
    form_ = nullptr;
    const std::size_t size = co_await read_head();
    if (size == 0) {
        begin_access();
        co_return !std::holds_alternative<std::monostate>(reply_);
    }
    check_failpoint("connection.head_read");
    begin_access();
    http_request request;
    request.received = in_since_;
    body_framing framing;
    auto match = examine(std::string_view(in_).substr(0, size), request, framing);
    in_.erase(0, size);
    bool is_admitted = false;
    if (match) {
        is_admitted = co_await admit(*match, request);
    }
    if (access_) {
        access_->entry.user = request.principal();
    }
    is_admitted = is_admitted && has_allowed_size(*match->target, framing);
    const bool has_body = framing.chunked || framing.length > 0;
    if (!is_admitted) {
        terms_.keep_alive = terms_.keep_alive && !has_body;
        co_await delay_refusal();
        co_return true;
    }
    const route& target = *match->target;
    request.path = std::move(match->path);
    request.path_parameters = std::move(match->path_parameters);
    if (has_body) {
        const bool received = co_await read_body(request, framing, target);
        if (!received) {
            co_return !std::holds_alternative<std::monostate>(reply_);
        }
    }
    check_failpoint("connection.body_read");
    if (in_.empty()) {
        std::string().swap(in_);
    } else {
        // The next request arrived with the end of this one.
        in_since_ = std::chrono::steady_clock::now();
    }
    enter(phase::handling);
    handler_reply reply = co_await answer(target, request);
    audit_request(request, reply);
    const auto* plain = std::get_if<http_reply>(&reply);
    services_.log.log(
        log_level::debug, "request",
        {{"method", request.method},
         {"path", request.path},
         {"status", plain == nullptr ? "200" : std::to_string(plain->status)}}
    );
    std::visit([this](auto& value) { reply_ = std::move(value); }, reply);
    co_return true;
}

// The size of the head at the start of in_. 0 if there is none; then reply_ may hold a refusal.
asio::awaitable<std::size_t> http_connection::read_head() {
    std::size_t seen = 0;
    bool skipped = false;
    for (;;) {
        // One empty line before a request is tolerated (RFC 9112 section 2.2).
        if (!skipped && in_.starts_with("\r\n")) {
            in_.erase(0, 2);
            seen = 0;
            skipped = true;
        }
        const head_scan scan = scan_head(in_, seen);
        const std::size_t known = scan.size > 0 ? scan.size : in_.size();
        if (known > services_.limits.max_header_bytes) {
            refuse_and_close(
                http_errc::headers_too_large, "The request head exceeds server.max_header_bytes."
            );
            co_return 0;
        }
        if (scan.what == head_scan::state::complete) {
            place_->mark_busy();
            co_return scan.size;
        }
        if (scan.what == head_scan::state::refused) {
            refuse_and_close(http_errc::bad_framing, scan.problem);
            co_return 0;
        }
        if (evicted_ && !has_unread()) {
            co_return 0;
        }
        const bool is_first = in_.empty();
        if (seen == 0) { // The time until eviction starts anew when a request begins.
            place_->mark_idle(std::chrono::steady_clock::now());
        }
        seen = in_.size();
        waiting_ = is_first ? wait::first_byte : wait::rest_of_head;
        const std::size_t count = co_await read_some(in_, head_read_bytes);
        waiting_ = wait::none;
        if (is_first) {
            in_since_ = std::chrono::steady_clock::now();
        }
        if (count == 0) {
            if (timed_out_ && !in_.empty()) {
                refuse_and_close(
                    http_errc::request_timeout, "The request head did not arrive in time."
                );
            }
            co_return 0;
        }
        if (phase_ == phase::idle) {
            enter(phase::head);
        }
    }
}

// Parses the head and finds its route. If it returns nothing, reply_ must be sent.
std::optional<router::found>
http_connection::examine(std::string_view block, http_request& request, body_framing& framing) {
    auto parsed = parse_head(block);
    if (const auto* problem = std::get_if<framing_problem>(&parsed)) {
        refuse_and_close(http_errc::bad_framing, problem->text);
        return std::nullopt;
    }
    auto& head = std::get<request_head>(parsed);
    terms_.http_1_0 = head.version == 10;
    const std::string_view target = head.target;
    const std::size_t mark = std::min(target.find('?'), target.size());
    form_ = services_.routes.form_of(target.substr(0, mark));
    auto checked = check_framing(head);
    request.method = std::move(head.method);
    request.headers = std::move(head.headers);
    request.address = address_for_records(request);
    describe_access(request, target.substr(0, mark));
    const bool has_sessions =
        !request.header("origin").empty() && services_.auth.get()->sessions() != nullptr;
    terms_.headers = cors_headers(request, services_.access, has_sessions);
    if (const auto* problem = std::get_if<framing_problem>(&checked)) {
        refuse_and_close(http_errc::bad_framing, problem->text);
        return std::nullopt;
    }
    framing = std::get<body_framing>(checked);
    without_body_ = request.method == "HEAD";
    terms_.keep_alive = !finishing_ && !place_->is_reserve() && !lists_option(request, "close") &&
                        (!terms_.http_1_0 || lists_option(request, "keep-alive"));

    request.query = target.substr(std::min(mark + 1, target.size()));
    auto match = services_.routes.match(request.method, target.substr(0, mark));
    if (std::holds_alternative<router::no_such_path>(match)) {
        if (!is_preflight(request)) {
            refuse(http_errc::not_found, "There is nothing at this path.");
            return std::nullopt;
        }
        match = router::found{};
    }
    if (const auto* other = std::get_if<router::no_such_method>(&match)) {
        refuse(http_errc::method_not_allowed, "This path serves: " + other->methods + ".");
        std::get<http_reply>(reply_).headers.emplace_back("Allow", other->methods);
        return std::nullopt;
    }
    auto& found = std::get<router::found>(match);
    const bool may_use_reserve =
        found.target != nullptr && (found.target->probe || found.target->access.is_for_peers());
    if (place_->is_reserve() && !may_use_reserve) {
        const auto [code, text] = refusal_of(place_->reserve_because());
        refuse(code, text);
        return std::nullopt;
    }
    return std::move(found);
}

bool http_connection::has_allowed_size(const route& target, const body_framing& framing) {
    max_body_bytes_ = services_.limits.max_body_bytes;
    if (target.max_body_bytes > 0) {
        max_body_bytes_ = std::min(max_body_bytes_, target.max_body_bytes);
    }
    max_body_bytes_ += target.more_body_bytes;
    if (framing.length > max_body_bytes_) {
        refuse_too_large();
        return false;
    }
    return true;
}

asio::awaitable<handler_reply> http_connection::answer(const route& target, http_request& request) {
    try {
        co_return co_await call(target, request);
    } catch (const std::exception& error) {
        services_.log.log(
            log_level::error, "request failed",
            {{"method", request.method}, {"path", request.path}, {"error", error.what()}}
        );
    }
    co_return to_reply(http_errc::internal, "internal");
}

// The handler's reply or, without enough memory for it, a short refusal.
asio::awaitable<handler_reply> http_connection::call(const route& target, http_request& request) {
    constexpr std::string_view no_memory =
        "There is not enough memory for this reply (server.max_memory_bytes).";
    std::unique_ptr<bulkhead::pass> place;
    if (target.large_reply) {
        pass_failpoint("reply.asked");
        place = co_await services_.large_replies.enter();
        if (!place) {
            co_return to_reply(http_errc::overloaded, "Too many large replies are being prepared.");
        }
        if (has_peer_left()) {
            // The client has left, but a reply is needed.
            co_return to_reply(http_errc::overloaded, "The client has disconnected.");
        }
        pass_failpoint("reply.made");
        const memory_budget& memory = services_.memory;
        if (memory.used() >= memory.limit(memory_use::ordinary)) {
            co_return to_reply(http_errc::overloaded, no_memory);
        }
    }
    request.reply_memory = memory_share(&services_.memory);
    handler_reply reply = co_await target.handler(request);
    const auto* plain = std::get_if<http_reply>(&reply);
    reply_memory_ = std::move(request.reply_memory);
    if (plain != nullptr && plain->body.size() > uncounted_reply_bytes &&
        !reply_memory_.grow_to(plain->body.capacity())) {
        co_return to_reply(http_errc::overloaded, no_memory);
    }
    co_return reply;
}

// Returns 0 if the peer has closed, the connection broke, or sweep() has ended the wait.
asio::awaitable<std::size_t> http_connection::read_some(std::string& into, std::size_t bytes) {
    const std::size_t begin = into.size();
    into.resize(begin + bytes);
    timed_out_ = false;
    const auto [ec, count] =
        co_await socket_.async_read_some(asio::buffer(into.data() + begin, bytes), as_result);
    into.resize(begin + count);
    co_return ec ? 0 : count;
}

void http_connection::refuse(http_errc code, std::string_view message) {
    reply_ = to_reply(code, message);
}

void http_connection::refuse_and_close(http_errc code, std::string_view message) {
    refuse(code, message);
    terms_.keep_alive = false;
}

void http_connection::enter(phase next) noexcept {
    phase_ = next;
    since_ = now_;
    unsent_ = 0;
}

void http_connection::sweep() {
    const connection_limits& limits = services_.limits;
    const auto elapsed = now_ - since_;
    switch (phase_) {
    case phase::idle:
        if (elapsed >= limits.idle) {
            close();
        }
        return;
    case phase::queued:
        if (elapsed >= limits.body) {
            timed_out_ = true;
            boost::system::error_code ignored; // Fails only for a closed socket.
            socket_.cancel(ignored);
        } else if (has_peer_left()) {
            close();
        }
        return;
    case phase::head:
    case phase::body: {
        if (phase_ == phase::body ? body_is_late() : elapsed >= limits.header) {
            timed_out_ = true;
            boost::system::error_code ignored; // Fails only for a closed socket.
            socket_.cancel(ignored);
        }
        return;
    }
    case phase::handling:
        return; // The handler limits its own time.
    case phase::writing:
        if (plain_ != nullptr) {
            look_for_reply_progress();
            return;
        }
        look_for_progress();
        if (stream_ != nullptr) {
            look_for_lag();
        }
        if (now_ - since_ >= limits.stall) {
            services_.log.log(log_level::warning, "a reader was cut off: it stopped reading");
            abort();
            return;
        }
        look_whether_peer_left();
        return;
    case phase::streaming:
        beat();
        look_whether_peer_left();
        return;
    case phase::lingering:
        if (elapsed >= limits.linger) {
            close();
        }
        return;
    }
}

void http_connection::finish() {
    finishing_ = true;
    terms_.keep_alive = false;
    if (waiting_ == wait::first_byte && !has_unread()) {
        close();
    }
}

// A reserve connection is closed whatever it does.
void http_connection::evict() {
    if (place_->is_reserve() || (waiting_ != wait::none && !has_unread())) {
        close();
        return;
    }
    evicted_ = true;
    finishing_ = true;
    terms_.keep_alive = false;
}

bool http_connection::has_unread() const {
    boost::system::error_code broken; // A broken socket has nothing to read.
    return socket_.available(broken) > 0;
}

void http_connection::close() noexcept {
    boost::system::error_code ignored; // The descriptor is freed even if an error is reported.
    socket_.close(ignored);
}

} // namespace agui::gateway
