#include "runner/http/http_exchange.hpp"

#include "runner/http/connect_race.hpp"
#include "runner/http/http_exchange_failures.hpp"
#include "runner/http/name_lookup.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// Most headers, and about a dozen tokens of a TLS stream. Memory per open stream limits the number
// of streams in a process.
constexpr std::size_t read_bytes = 4096;

// A header may need more. This covers the reader's own limit and the bytes after the header.
constexpr std::size_t buffer_bytes_max = 128U << 10U;

// Says how long the server keeps the connection.
constexpr std::string_view keep_alive_field = "keep-alive";

// The most addresses of one name that are tried. A name with more belongs to a load balancer.
constexpr std::size_t endpoints_max = 16;

} // namespace

http_exchange::http_exchange(
    const asio::any_io_executor& executor, std::shared_ptr<http_origin> origin
)
    : transport_response(origin->settings.budget),
      watch(executor),
      executor_(executor),
      origin_(std::move(origin)),
      buffer_(read_bytes, '\0') {}

void http_exchange::expired() noexcept {
    timed_out_ = true;
    if (connection_) {
        connection_->close();
    }
}

/// Distinguishes our own cancellation and timeout from the peer's failures.
///
/// | cancelled | timed out | result    |
/// |-----------|-----------|-----------|
/// | yes       | any       | cancelled |
/// | no        | yes       | timeout   |
/// | no        | no        | `kind`    |
transport_failure
http_exchange::why(transport_failure::kind kind, const error_code& ec, bool by_us) const {
    if (by_us) {
        return cancelled_before;
    }
    if (timed_out_) {
        return {
            .what = transport_failure::kind::timeout,
            .detail = reader_.header_done() ? "nothing arrived within the idle timeout"
                                            : "no connection or no answer within the timeout"
        };
    }
    return {.what = kind, .detail = ec.message()};
}

const transport_failure& http_exchange::give_up(const transport_failure& why) {
    disarm();
    connection_.reset();
    return failure_.emplace(why);
}

asio::awaitable<transport_result<http_exchange::endpoints>>
http_exchange::resolve(time_point deadline) {
    const http_url& url = origin_->url;
    error_code ec;
    const asio::ip::address address = asio::ip::make_address(url.host, ec);
    if (!ec) {
        co_return endpoints{tcp::endpoint(address, url.port)};
    }

    const auto& names = origin_->settings.names ? origin_->settings.names : name_lookup::system();
    looked_up found = co_await names->find(url.host, deadline);
    if (found.ec == asio::error::operation_aborted) {
        co_return cancelled_before;
    }
    if (found.ec == asio::error::timed_out) {
        co_return transport_failure{
            .what = transport_failure::kind::timeout,
            .detail = "the host name was not resolved in time"
        };
    }
    if (found.ec) {
        co_return why(transport_failure::kind::connect, found.ec, false);
    }
    endpoints result;
    for (const asio::ip::address& each : in_turn(found.addresses)) {
        if (result.size() < endpoints_max) {
            result.emplace_back(each, url.port);
        }
    }
    co_return result;
}

asio::awaitable<transport_result<void>> http_exchange::connect() {
    const time_point deadline = deadline_sweep::clock::now() + origin_->settings.connect_timeout;
    transport_result<endpoints> found = co_await resolve(deadline);
    if (!found) {
        co_return found.error();
    }

    race_outcome reached = co_await connect_first(*std::move(found), deadline);
    if (reached.ec == asio::error::operation_aborted) {
        co_return give_up(cancelled_before);
    }
    timed_out_ = reached.ec == asio::error::timed_out;
    if (reached.ec) {
        co_return give_up(why(transport_failure::kind::connect, reached.ec, false));
    }
    connection_ = std::make_unique<http_connection>(executor_, origin_);
    if (const error_code failed = connection_->take(std::move(reached.socket))) {
        co_return give_up(why(transport_failure::kind::connect, failed, false));
    }
    error_code ignored; // Without this option, small requests are only slower.
    connection_->socket().set_option(tcp::no_delay(true), ignored);

    arm(deadline);
    const auto [ec] = co_await connection_->handshake();
    disarm();
    const bool by_us = cancelled(co_await asio::this_coro::cancellation_state);
    if (ec || timed_out_ || by_us) {
        co_return give_up(why(transport_failure::kind::tls, ec, by_us));
    }
    co_return transport_result<void>();
}

/// The time limit applies to each piece that the peer accepts, not to the whole body: an attachment
/// may take long on a slow line.
asio::awaitable<transport_result<void>>
http_exchange::write_piece(std::string_view& head, std::string_view& body) {
    const std::array<asio::const_buffer, 2> pieces{
        asio::buffer(head.data(), head.size()), asio::buffer(body.data(), body.size())
    };
    arm(deadline_sweep::clock::now() + origin_->settings.first_byte_timeout);
    const auto [ec, written] = co_await connection_->write_some(pieces);
    disarm();
    const bool by_us = cancelled(co_await asio::this_coro::cancellation_state);
    if (ec || timed_out_ || by_us) {
        co_return why(transport_failure::kind::lost, ec, by_us);
    }
    const std::size_t of_head = std::min(written, head.size());
    head.remove_prefix(of_head);
    body.remove_prefix(written - of_head);
    co_return transport_result<void>();
}

asio::awaitable<transport_result<void>>
http_exchange::perform(std::string_view head, std::string_view body) {
    transport_result<void> done = co_await write_piece(head, body);
    if (done && (!head.empty() || !body.empty())) {
        done = co_await write_while_reading(head, body);
    } else if (done || done.error().what == transport_failure::kind::lost) {
        // A server may answer (401, 413) and close without reading the whole body. Such an answer
        // is used.
        cut_short_ = !done;
        await_first_byte();
        done = co_await read_header();
    }
    if (!done) {
        co_return give_up(done.error());
    }
    if (reader_.done()) {
        complete();
    }
    co_return transport_result<void>();
}

/// Ends both sides when one of them leaves the other nothing to do.
struct http_exchange::until_over {
    asio::cancellation_type operator()(const std::exception_ptr& thrown, const side& ended) const {
        return thrown || ended.over ? asio::cancellation_type::terminal
                                    : asio::cancellation_type::none;
    }
};

/// Writes a body that does not fit into the socket's buffer: a server that refuses it may answer
/// without reading it.
asio::awaitable<transport_result<void>>
http_exchange::write_while_reading(std::string_view head, std::string_view body) {
    writing_ = true;
    auto [order, write_thrown, wrote, read_thrown, read] =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(executor_, write_rest(head, body), asio::deferred),
            asio::co_spawn(executor_, read_early_header(), asio::deferred)
        )
            .async_wait(until_over(), asio::use_awaitable);
    cut_short_ = write_thrown || !wrote.outcome;
    writing_ = false;
    disarm();
    if (read_thrown) {
        std::rethrow_exception(read_thrown);
    }
    co_return read.outcome;
}

asio::awaitable<http_exchange::side>
http_exchange::write_rest(std::string_view head, std::string_view body) {
    while (!head.empty() || !body.empty()) {
        const transport_result<void> done = co_await write_piece(head, body);
        if (!done) {
            const bool lost = done.error().what == transport_failure::kind::lost;
            if (lost) {
                await_first_byte();
            }
            co_return side{done, !lost};
        }
    }
    await_first_byte();
    co_return side{transport_result<void>(), false};
}

/// A server that begins a normal answer still accepts the rest of the request.
asio::awaitable<http_exchange::side> http_exchange::read_early_header() {
    const transport_result<void> done = co_await read_header();
    const bool as_asked = done && reader_.status() < 300;
    co_return side{done, !as_asked};
}

/// Starts the first-byte timeout once the request is written.
void http_exchange::await_first_byte() {
    writing_ = false;
    first_byte_deadline_ = deadline_sweep::clock::now() + origin_->settings.first_byte_timeout;
    if (!reader_.header_done()) {
        arm(first_byte_deadline_);
    }
}

asio::awaitable<transport_result<void>> http_exchange::read_header() {
    while (!reader_.header_done()) {
        if (cancelled(co_await asio::this_coro::cancellation_state)) {
            co_return cancelled_before;
        }
        if (!begin_read()) {
            co_return line_too_long;
        }
        const auto outcome =
            co_await connection_->read_some({buffer_.data() + end_, buffer_.size() - end_});
        const bool by_us = cancelled(co_await asio::this_coro::cancellation_state);
        if (const auto failed = end_read(outcome, by_us)) {
            stale_ = !received_ && failed->what == transport_failure::kind::lost;
            co_return *failed;
        }
        const auto step = reader_.read_header({buffer_.data() + begin_, end_ - begin_});
        if (step.failed) {
            co_return transport_failure{
                .what = transport_failure::kind::protocol, .detail = reader_.error()
            };
        }
        begin_ += step.consumed;
    }
    co_return transport_result<void>();
}

/// Makes room behind the buffered bytes and sets the deadline. Returns false if a line (of the
/// header, or of a chunk's size) does not fit.
bool http_exchange::begin_read() {
    if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    if (end_ == buffer_.size()) {
        if (buffer_.size() >= buffer_bytes_max || reader_.header_done()) {
            return false;
        }
        buffer_.resize(buffer_.size() * 2);
    }
    arm_read();
    return true;
}

void http_exchange::arm_read() {
    if (!writing_) {
        arm(reader_.header_done() ? idle_deadline_ : first_byte_deadline_);
    }
}

/// Handles the result of a read. A closed connection is no failure if it ends the response.
std::optional<transport_failure>
http_exchange::end_read(const http_connection::io_result& outcome, bool by_us) {
    const auto& [ec, received] = outcome;
    if (!writing_) {
        disarm();
    }
    if (!by_us && !timed_out_) {
        if (!ec) {
            received_ = true;
            undecoded_ = true;
            end_ += received;
            return std::nullopt;
        }
        // Anybody may have cut off a TLS stream without its closing alert, so only a plain end of
        // file counts as the end of a response (RFC 9112, 9.8).
        if (ec == asio::error::eof && reader_.end_of_connection()) {
            complete();
            return std::nullopt;
        }
    }
    return why(transport_failure::kind::lost, ec, by_us);
}

void http_exchange::keep_headers(std::span<const std::string_view> names) {
    reader_.keep_fields([names](std::string_view name) {
        return name == keep_alive_field || std::ranges::find(names, name) != names.end();
    });
}

void http_exchange::complete() {
    ended_ = true;
    disarm();
    const bool reusable = origin_->settings.reuse_connections && reader_.keep_alive() &&
                          !cut_short_ && begin_ == end_ && connection_->socket().is_open();
    const std::chrono::seconds keep = reusable ? keep_time() : std::chrono::seconds(0);
    if (keep > std::chrono::seconds(0)) {
        connection_pool::of(executor_).give_back(origin_->id, std::move(connection_), keep);
    }
    connection_.reset();
}

/// How long the server keeps the connection according to `Keep-Alive: timeout=5`, minus the time
/// that a request may take to arrive.
std::chrono::seconds http_exchange::keep_time() const {
    constexpr std::string_view name = "timeout=";
    constexpr std::chrono::seconds margin{1};
    const std::string_view field = reader_.field(keep_alive_field);
    const std::size_t at = field.find(name);
    unsigned seconds = 0;
    if (at == std::string_view::npos ||
        std::from_chars(field.data() + at + name.size(), field.data() + field.size(), seconds).ec !=
            std::errc()) {
        return connection_pool::idle_time_max;
    }
    return std::min(std::chrono::seconds(seconds), connection_pool::idle_time_max) - margin;
}

} // namespace agui::runner
