#include "gateway/http/http_connection.hpp"

#include "gateway/base/resumption.hpp"
#include "session/base/as_result.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t max_lingering_bytes = 64U << 20U;

// Bytes read from the source at once. More would not let a reader catch up faster.
constexpr std::size_t batch_bytes = 65'536;
// Capacity of the batch that is kept for the next read.
constexpr std::size_t kept_bytes = batch_bytes;

// Capacity of a string without an allocation.
const std::size_t no_capacity = std::string().capacity();

// A batch is mostly sent as soon as it is read, so the streams of a thread share its memory.
std::string& spare_bytes() {
    thread_local std::string bytes;
    return bytes;
}

// Bytes read of a next request that arrives during a stream.
constexpr std::size_t early_bytes = 4096;

// A peer that reads less than this, on average over the stall limit, makes no progress, so that it
// cannot hold a connection by reading a byte now and then.
constexpr std::int64_t least_bytes_per_second = 500;

// Silence after a stream's head until the first heartbeat. A proxy passes the head on with the
// first byte of the body, so that must not wait for a whole period. A new run has its first event
// sooner.
constexpr std::chrono::milliseconds first_silence{1000};

constexpr std::string_view crlf = "\r\n";
constexpr std::string_view last_chunk = "0\r\n\r\n";

/// The line before a chunk's data.
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

/// A streamed reply in progress: the batch read from the source and the buffers being written.
struct http_connection::event_stream final : woken_step {
    event_stream(http_connection& owner, stream_reply what)
        : of(owner),
          source(std::move(what.source)),
          chunked(!owner.terms_.http_1_0),
          head(write_stream_head(source->content_type(), source->header(), owner.terms_)) {
        source->open(owner.socket_.get_executor());
        source->set_step(*this);
    }

    /// Writes the events that have come while send_stream() waits.
    void run(resumption& here) noexcept override {
        try {
            if (of.write_events(*this)) {
                if (!source->wait_again(here)) {
                    std::move(here).post(); // There is more already: others come first.
                }
                return;
            }
        } catch (...) {
            thrown = std::current_exception();
        }
        has_run = true;
    }

    /// Reads the next batch and fills `buffers`, with the response head before the first. Returns
    /// false if there is nothing to write yet.
    bool read(std::size_t max_bytes) {
        free_sent();
        batch.bytes.swap(spare_bytes());
        batch.bytes.clear();
        source->read(max_bytes, batch);
        const bool beat = batch.bytes.empty() && !batch.ended && heartbeat_due;
        heartbeat_due = false;
        const std::string_view data = beat ? source->heartbeat() : std::string_view(batch.bytes);
        buffers.clear();
        buffers.add(asio::buffer(head));
        head_sent = true;
        body_begun = body_begun || !data.empty();
        if (chunked && !data.empty()) {
            buffers.add(size_line.write(data.size()));
        }
        buffers.add(asio::buffer(data));
        if (chunked && !data.empty()) {
            buffers.add(asio::buffer(crlf));
        }
        if (chunked && batch.ended) {
            buffers.add(asio::buffer(last_chunk));
        }
        return !buffers.empty() || batch.ended || batch.cut_off;
    }

    /// Frees the bytes that were sent.
    void free_sent() {
        if (head_sent && !head.empty()) {
            std::string().swap(head);
        }
        const std::size_t held = batch.bytes.capacity();
        if (held <= kept_bytes && held > spare_bytes().capacity()) {
            batch.bytes.swap(spare_bytes());
        }
        if (batch.bytes.capacity() > no_capacity) {
            std::string().swap(batch.bytes);
        }
    }

    http_connection& of;
    std::unique_ptr<event_source> source;
    event_source::batch batch;
    gather buffers;
    chunk_head size_line;
    bool chunked;
    std::string head; ///< The response head. Empty once it is sent.
    bool head_sent = false;
    bool body_begun = false;
    bool heartbeat_due = false;
    bool peer_left = false;
    bool has_run = false;      ///< run() leaves the rest to send_stream().
    std::exception_ptr thrown; ///< Thrown by run().

    std::size_t least_lag = 0; ///< The smallest lag while the reader is too far behind, else 0.
    time_point lagging_since;  ///< When it had that lag.
    bool cut_off = false;
    time_point cut_off_at;
};

asio::awaitable<bool> http_connection::send_reply() {
    http_reply reply = std::move(std::get<http_reply>(reply_));
    reply_ = std::monostate{};
    terms_.keep_alive = terms_.keep_alive && !finishing_;
    if (form_ != nullptr) {
        reply = form_->write(std::move(reply));
    }
    if (!reply.no_room.empty()) {
        services_.no_room.add(reply.no_room, std::chrono::steady_clock::now());
    }
    if (access_) {
        access_->entry.status = reply.status;
    }
    const std::string head = write_reply_head(reply, terms_);
    unsent_reply rest;
    rest.buffers.add(asio::buffer(head));
    if (!without_body_ && reply.status != 204 && reply.status != 304) {
        rest.buffers.add(asio::buffer(reply.body));
        rest.file = reply.file ? &*reply.file : nullptr;
    }
    reply_since_ = now_;
    reply_bytes_ = rest.bytes();
    unread_at_progress_ = reply_bytes_;
    plain_ = &rest;
    bool written = co_await write_rest(rest.buffers);
    if (written && rest.file != nullptr) {
        written = co_await write_file(*rest.file);
    }
    plain_ = nullptr;
    reply_memory_.shrink_to(0);
    if (written && in_.empty()) {
        enter(phase::idle);
    } else {
        enter(phase::head);
    }
    co_return written&& terms_.keep_alive;
}

// For HEAD: the same response head as for GET, without reading the source.
asio::awaitable<bool> http_connection::send_stream_head() {
    if (access_) {
        access_->entry.status = 200;
    }
    const stream_reply what = std::move(std::get<stream_reply>(reply_));
    reply_ = std::monostate{};
    terms_.keep_alive = terms_.keep_alive && !terms_.http_1_0 && !finishing_;
    const std::string head =
        write_stream_head(what.source->content_type(), what.source->header(), terms_);
    gather buffers;
    buffers.add(asio::buffer(head));
    const bool written = co_await write_rest(buffers);
    enter(in_.empty() ? phase::idle : phase::head);
    co_return written&& terms_.keep_alive;
}

// Returns true if the stream is complete and the connection may serve another request.
asio::awaitable<bool> http_connection::send_stream() {
    if (access_) {
        access_->entry.status = 200;
    }
    terms_.keep_alive = terms_.keep_alive && !terms_.http_1_0 && !finishing_;
    event_stream stream(*this, std::move(std::get<stream_reply>(reply_)));
    reply_ = std::monostate{};
    // Resets stream_ however the stream ends: the watch and abort() use it.
    struct current_stream {
        explicit current_stream(http_connection& owner, event_stream& one) : of(owner) {
            of.stream_ = &one;
        }
        ~current_stream() { end(); }
        current_stream(const current_stream&) = delete;
        current_stream& operator=(const current_stream&) = delete;
        void end() const noexcept {
            of.stream_ = nullptr;
            ++of.watch_;
        }
        http_connection& of;
    };
    const current_stream current(*this, stream);
    // The first event of a new run mostly follows in this turn of the loop. It is then written
    // together with the head. A client that has closed its side still gets what is there.
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
    early_ = false;
    watch_peer();
    for (;;) {
        if (!std::exchange(stream.has_run, false) && write_events(stream)) {
            co_await stream.source->wait();
            if (stream.thrown) {
                std::rethrow_exception(stream.thrown);
            }
            continue;
        }
        if (stream.peer_left || write_failed_) {
            break;
        }
        if (!stream.buffers.empty()) {
            if (!co_await write_rest(stream.buffers)) {
                break;
            }
            check_failpoint("stream.written");
        }
        if (stream.batch.ended) {
            break;
        }
        if (stream.cut_off) {
            co_await send_cut_off();
            break;
        }
    }
    const bool complete =
        stream.batch.ended && !write_failed_ && !stream.peer_left && !stream.cut_off;
    current.end();
    if (!complete || !terms_.keep_alive || finishing_) {
        co_return false;
    }
    // Ends the watch. Fails only for a closed socket, which has none.
    boost::system::error_code ignored;
    socket_.cancel(ignored);
    enter(in_.empty() ? phase::idle : phase::head);
    co_return true;
}

// Writes what the source has. Returns true if more must come first, and false if send_stream() has
// to go on: to wait for the peer, or to end the stream.
bool http_connection::write_events(event_stream& stream) {
    while (!stream.peer_left && !write_failed_) {
        if (stream.batch.caught_up ||
            !stream.read(std::min(services_.limits.reader_buffer_bytes, batch_bytes))) {
            stream.free_sent();
            stream.batch.caught_up = false;
            phase_ = phase::streaming;
            return true;
        }
        since_ = now_;
        if (stream.batch.cut_off && !stream.cut_off) {
            cut_off("the rest of the run cannot be shown here");
        }
        check_failpoint("stream.read");
        if (!try_write(stream.buffers)) {
            return false;
        }
        check_failpoint("stream.written");
        if (stream.batch.ended || stream.cut_off) {
            return false;
        }
    }
    return false;
}

// Returns true if nothing is left to write, and false if the kernel accepts no more at the moment
// or the write failed.
bool http_connection::try_write(gather& buffers) {
    while (!buffers.empty()) {
        boost::system::error_code ec;
        const std::size_t count = socket_.write_some(buffers, ec);
        if (ec) {
            write_failed_ = ec != asio::error::would_block && ec != asio::error::try_again;
            return false;
        }
        sent_ += count;
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
        if (plain_ == nullptr) {
            since_ = now_;
        }
    }
}

// The wait after each chunk yields the thread to others, even if the peer takes everything at once.
asio::awaitable<bool> http_connection::write_file(file_body& file) {
    while (file.size() > 0) {
        boost::system::error_code failed;
        const std::uint64_t before = file.size();
        file.send_some(socket_.native_handle(), failed);
        sent_ += before - file.size();
        if (!failed && file.size() > 0) {
            std::tie(failed) = co_await socket_.async_wait(tcp::socket::wait_write, as_result);
        }
        if (failed) {
            write_failed_ = true; // The peer notices that bytes are missing.
            co_return false;
        }
    }
    co_return true;
}

// Reads bytes that the peer is still sending; otherwise closing could destroy the reply in transit
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

// A peer that has closed its side has left; a peer that sends bytes is only early with its next
// request. Only the first of these bytes are read. The others keep the socket readable, so sweep()
// must look for the close.
void http_connection::on_peer_readable() {
    const std::size_t begin = in_.size();
    if (begin >= early_bytes) {
        early_ = true;
        return;
    }
    in_.resize(early_bytes);
    boost::system::error_code ec;
    const std::size_t count = socket_.receive(
        asio::buffer(in_.data() + begin, early_bytes - begin), tcp::socket::message_flags(), ec
    );
    in_.resize(begin + count);
    if (begin == 0) {
        in_since_ = std::chrono::steady_clock::now();
    }
    if (!ec || ec == asio::error::would_block || ec == asio::error::try_again) {
        watch_peer();
    } else {
        peer_left();
    }
}

void http_connection::look_whether_peer_left() {
    if (stream_ == nullptr || !early_) {
        return;
    }
    if (has_peer_left()) {
        peer_left();
    }
}

// Notices the close even if there are unread bytes before it.
bool http_connection::has_peer_left() {
    pollfd watched{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&watched, 1, 0) > 0;
}

void http_connection::peer_left() {
    stream_->peer_left = true;
    close();
    stream_->source->wake();
}

// The socket becomes writable only when a third of its buffer is free. The buffer shows the
// progress of a slow peer long before that.
void http_connection::look_for_progress() {
    int unsent = 0;
    if (::ioctl(socket_.native_handle(), SIOCOUTQ, &unsent) != 0) {
        return;
    }
    const std::int64_t least = services_.limits.stall.count() * least_bytes_per_second / 1000;
    if (unsent > unsent_) {
        unsent_ = unsent;
    } else if (unsent_ - unsent >= least) {
        unsent_ = unsent;
        since_ = now_;
    }
}

// A plain reply stays in memory, or its file open, until its last byte is sent, so the peer must
// keep a minimum rate and finish within a limit.
void http_connection::look_for_reply_progress() {
    const connection_limits& limits = services_.limits;
    int unsent = 0;
    if (::ioctl(socket_.native_handle(), SIOCOUTQ, &unsent) != 0) {
        return;
    }
    const std::uint64_t untaken = plain_->bytes() + static_cast<std::uint64_t>(unsent);
    const auto least =
        static_cast<std::size_t>(limits.stall.count()) * limits.min_reply_rate / 1000;
    if (unread_at_progress_ - std::min(untaken, unread_at_progress_) >= least) {
        unread_at_progress_ = untaken;
        since_ = now_;
    }
    const std::chrono::milliseconds earned(reply_bytes_ * 1000 / limits.reply_rate);
    if (now_ - since_ >= limits.stall || now_ - reply_since_ >= limits.reply + earned) {
        services_.log.log(log_level::warning, "a reply was cut off: its client reads too slowly");
        abort();
    }
}

// A reader whose lag exceeds its limit and does not shrink is too slow for its run (P11). While one
// reads an old run or a burst, its lag shrinks.
void http_connection::look_for_lag() {
    event_stream& stream = *stream_;
    if (stream.cut_off) {
        if (now_ - stream.cut_off_at >= services_.limits.farewell) {
            abort(); // It has not even read the bytes in flight.
        }
        return;
    }
    const std::size_t behind = stream.source->backlog_bytes();
    if (behind <= services_.limits.reader_buffer_bytes) {
        stream.least_lag = 0;
    } else if (stream.least_lag == 0 || behind < stream.least_lag) {
        stream.least_lag = behind;
        stream.lagging_since = now_;
    } else if (now_ - stream.lagging_since >= services_.limits.lag) {
        cut_off("it is too far behind its run");
    }
}

// The current batch is completed before send_cut_off().
void http_connection::cut_off(std::string_view why) {
    stream_->cut_off = true;
    stream_->source->cut_off();
    stream_->cut_off_at = now_;
    services_.log.log(log_level::warning, "a reader was cut off: " + std::string(why));
}

// After a complete batch: tells the peer why it is cut off, but does not end the stream (P1).
asio::awaitable<void> http_connection::send_cut_off() {
    if (terms_.http_1_0) {
        abort(); // With HTTP/1.0 a normal close would look like the end of the body.
        co_return;
    }
    const std::string_view note = stream_->source->cut_off_note();
    if (note.empty()) {
        co_return; // An empty chunk would end the body.
    }
    chunk_head size_line;
    gather buffers;
    buffers.add(size_line.write(note.size()));
    buffers.add(asio::buffer(note));
    buffers.add(asio::buffer(crlf));
    (void)co_await write_rest(buffers); // Nothing follows, whether this succeeds or not.
}

void http_connection::beat() {
    const event_source& source = *stream_->source;
    auto period = source.heartbeat_period().value_or(services_.limits.heartbeat);
    if (!stream_->body_begun) {
        period = std::min(period, first_silence);
    }
    if (now_ - since_ >= period && !source.heartbeat().empty()) {
        stream_->heartbeat_due = true;
        stream_->source->wake();
    }
}

void http_connection::abort() {
    boost::system::error_code ignored; // Nothing more can be done for this peer.
    socket_.set_option(tcp::socket::linger(true, 0), ignored);
    close();
    if (stream_ != nullptr) {
        stream_->source->cut_off();
        stream_->peer_left = true;
        stream_->source->wake();
    }
}

} // namespace agui::gateway
