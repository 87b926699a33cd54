#include "gateway/http_connection.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <charconv>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t max_lingering_bytes = 64U << 20U;

constexpr std::string_view crlf = "\r\n";
constexpr std::string_view last_chunk = "0\r\n\r\n";
constexpr std::string_view heartbeat = ": keep-alive\n\n";

/// The line in front of a chunk's data.
class chunk_head {
public:
    [[nodiscard]] asio::const_buffer write(std::size_t size) noexcept {
        char* end = std::to_chars(text_, text_ + sizeof(text_) - crlf.size(), size, 16).ptr;
        *end++ = '\r';
        *end++ = '\n';
        return asio::buffer(text_, static_cast<std::size_t>(end - text_));
    }

private:
    char text_[20] = {};
};

} // namespace

/// What sweep() and the watch on the peer must reach while a stream is sent.
struct http_connection::event_stream {
    run_log& log;
    run_log::waiter waiter;
    bool peer_left = false;
    bool heartbeat_due = false;
};

asio::awaitable<bool> http_connection::send_reply() {
    const http_reply reply = std::move(std::get<http_reply>(reply_));
    terms_.keep_alive = terms_.keep_alive && !finishing_;
    const std::string head = write_reply_head(reply, terms_);
    gather buffers;
    buffers.add(asio::buffer(head));
    if (!without_body_ && reply.status != 204 && reply.status != 304) {
        buffers.add(asio::buffer(reply.body));
    }
    const bool written = co_await write_rest(buffers);
    if (written && in_.empty()) {
        enter(phase::idle);
    } else {
        enter(phase::head);
    }
    co_return written && terms_.keep_alive;
}

// True: the stream is complete and the connection may serve another request.
asio::awaitable<bool> http_connection::send_stream() {
    const stream_reply what = std::move(std::get<stream_reply>(reply_));
    reply_ = std::monostate{};
    const run_log::reader_token token(what.log);
    event_stream stream{*what.log, run_log::waiter(socket_.get_executor())};
    run_log::cursor at;
    at.projection = what.projection;
    at.after = what.after;
    run_log::batch batch;
    const bool chunked = !terms_.http_1_0;
    terms_.keep_alive = terms_.keep_alive && chunked && !finishing_;
    std::string head = write_stream_head(terms_);
    chunk_head size_line;
    gather buffers;

    stream_ = &stream;
    watch_peer();
    bool complete = false;
    while (!complete && !stream.peer_left) {
        what.log->read(at, services_.limits.reader_buffer_bytes, batch);
        const bool beat = batch.bytes == 0 && stream.heartbeat_due && !batch.ended;
        if (batch.bytes == 0 && !beat && !batch.ended && head.empty()) {
            phase_ = phase::streaming;
            co_await what.log->wait(at, stream.waiter);
            continue;
        }
        // Everything that is ready leaves in one write, the response head included.
        buffers.clear();
        buffers.add(asio::buffer(head));
        const std::size_t bytes = beat ? heartbeat.size() : batch.bytes;
        if (chunked && bytes > 0) {
            buffers.add(size_line.write(bytes));
        }
        if (beat) {
            buffers.add(asio::buffer(heartbeat));
        }
        for (const asio::const_buffer& frame : batch.buffers) {
            buffers.add(frame);
        }
        if (chunked && bytes > 0) {
            buffers.add(asio::buffer(crlf));
        }
        if (chunked && batch.ended) {
            buffers.add(asio::buffer(last_chunk));
        }
        stream.heartbeat_due = false;
        since_ = now_;
        if (!try_write(buffers)) {
            const bool written = co_await write_rest(buffers);
            if (!written) {
                break;
            }
        }
        if (!head.empty()) {
            std::string().swap(head);
        }
        complete = batch.ended;
    }
    stream_ = nullptr;
    ++watch_;
    if (complete && terms_.keep_alive && !finishing_) {
        boost::system::error_code ignored; // Ends the watch; a closed socket has none.
        socket_.cancel(ignored);
        enter(in_.empty() ? phase::idle : phase::head);
        co_return true;
    }
    co_return false;
}

// True: nothing is left to write. False: the kernel takes no more at the moment, or the write failed.
bool http_connection::try_write(gather& buffers) {
    while (!buffers.empty()) {
        boost::system::error_code ec;
        const std::size_t count = socket_.write_some(buffers, ec);
        if (ec) {
            write_failed_ = ec != asio::error::would_block && ec != asio::error::try_again;
            return false;
        }
        buffers.consume(count);
    }
    return true;
}

asio::awaitable<bool> http_connection::write_rest(gather& buffers) {
    enter(phase::writing);
    for (;;) {
        if (try_write(buffers)) {
            co_return true;
        }
        if (write_failed_) {
            co_return false;
        }
        const auto [ec] = co_await socket_.async_wait(tcp::socket::wait_write, as_result);
        if (ec) {
            write_failed_ = true;
            co_return false;
        }
        since_ = now_;
    }
}

// Takes in what the peer is still sending, so that closing does not destroy the answer on its way
// (RFC 9112 section 9.6).
asio::awaitable<void> http_connection::linger() {
    if (write_failed_ || !socket_.is_open()) {
        co_return;
    }
    enter(phase::lingering);
    boost::system::error_code ec;
    socket_.shutdown(tcp::socket::shutdown_send, ec);
    std::size_t received = 0;
    while (!ec && received < max_lingering_bytes) {
        in_.clear();
        const std::size_t count = co_await read_some(in_, 16'384);
        if (count == 0) {
            break;
        }
        received += count;
    }
}

void http_connection::watch_peer() {
    socket_.async_wait(
        tcp::socket::wait_read,
        [self = shared_from_this(), number = watch_](boost::system::error_code ec) {
            if (!ec && self->stream_ != nullptr && self->watch_ == number) {
                self->on_peer_readable();
            }
        }
    );
}

// A client that has closed its side has left. One that sends bytes has only been early with its next
// request: they stay where they are, and the watch ends.
void http_connection::on_peer_readable() {
    char byte = 0;
    boost::system::error_code ec;
    socket_.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, ec);
    if (ec == asio::error::would_block || ec == asio::error::try_again) {
        watch_peer();
        return;
    }
    if (ec) {
        stream_->peer_left = true;
        close();
        stream_->log.wake(stream_->waiter);
    }
}

void http_connection::beat() {
    if (now_ - since_ >= services_.limits.heartbeat) {
        stream_->heartbeat_due = true;
        stream_->log.wake(stream_->waiter);
    }
}

void http_connection::abort() {
    boost::system::error_code ignored; // Nothing more can be done for this peer.
    socket_.set_option(tcp::socket::linger(true, 0), ignored);
    close();
    if (stream_ != nullptr) {
        stream_->peer_left = true;
        stream_->log.wake(stream_->waiter);
    }
}

} // namespace agui::gateway
