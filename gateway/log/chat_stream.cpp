#include "gateway/log/chat_stream.hpp"

#include <algorithm>
#include <utility>

namespace agui::gateway {

using translator::chat_mode;

namespace {

// Approximate bytes around a delta's text: in a log, where deltas share them, and the minimum.
constexpr std::size_t event_bytes_around = 90;
constexpr std::size_t least_event_bytes = 64;
// Bytes of the record buffer kept between two reads.
constexpr std::size_t kept_record_bytes = 512;
// The budget is changed in steps of this size.
constexpr std::size_t counted_bytes = 4096;
// The most memory that may come from the reserve, so that long answers in full mode run out of
// memory before short ones.
constexpr std::size_t small_stream_bytes = 64U << 10U;

} // namespace

run_stream_request
chat_stream::events_of(const chat_stream_request& what, const event_records& form) {
    run_stream_request events;
    events.log = what.log;
    events.projection = translator::projection::v1_1;
    events.form = &form;
    events.naming = what.naming;
    // The messages need all events. Events that the reader has are applied without being sent, and
    // a frame must not hold a text of which the reader has a part.
    events.split_at = what.after;
    events.offset = what.offset;
    return events;
}

chat_stream::chat_stream(const chat_stream_request& what)
    : mode_(what.mode),
      after_(what.offset + what.after),
      messages_(what.session_id, what.message_id, what.mode),
      frame_bytes_around_(sse_form().bytes_around() + messages_.frame_bytes_around()),
      form_(frame_bytes_around_ - std::min(frame_bytes_around_, event_bytes_around)),
      events_(events_of(what, form_)),
      memory_(what.budget, memory_use::small, counted_bytes) {}

std::string_view chat_stream::content_type() const noexcept { return sse_form().content_type(); }

void chat_stream::open(boost::asio::any_io_executor executor) { events_.open(std::move(executor)); }

void chat_stream::read(std::size_t max_bytes, batch& out) {
    out.bytes.clear();
    if (mode_ == chat_mode::incremental) {
        read_pieces(max_bytes, out);
    } else {
        read_whole(max_bytes, out);
    }
    if (read_.bytes.capacity() > kept_record_bytes) {
        std::string().swap(read_.bytes);
    }
}

// Frames are longer than their events, by an amount that depends on the ids. So only as many events
// are read at once as fit into `max_bytes` of frames even if they are the shortest possible. That
// is a single read unless more is waiting.
void chat_stream::read_pieces(std::size_t max_bytes, batch& out) {
    std::size_t taken = 0;
    std::size_t wanted = 0;
    do {
        const std::size_t left = max_bytes - out.bytes.size();
        wanted = std::max<std::size_t>(
            1, left * least_event_bytes / (least_event_bytes + frame_bytes_around_)
        );
        take_events(wanted, out);
        taken += read_.bytes.size();
    } while (!out.ended && read_.bytes.size() >= wanted && taken < max_bytes &&
             out.bytes.size() < max_bytes);
    // Counted but never refused, because it is little. If there is no room, the next run is
    // refused.
    memory_.grow_anyway_to(messages_.bytes());
    memory_.shrink_to(messages_.bytes());
}

// A whole frame is at least as large as all messages, and a slow reader keeps it for a long time.
// So there must be room for both before it is written.
void chat_stream::read_whole(std::size_t max_bytes, batch& out) {
    if (!refused_) {
        take_events(max_bytes, out);
    }
    const bool due = messages_.changed() && (out.ended || events_.backlog_bytes() == 0);
    const std::size_t frame = due ? messages_.frame_bytes() : 0;
    if (refused_ || !hold(messages_.bytes() + frame)) {
        refused_ = true;
        out.ended = false;
        out.cut_off = true;
        return;
    }
    if (due) {
        out.bytes.reserve(frame + sse_form().bytes_around());
        write_frame(out.bytes);
    }
}

void chat_stream::take_events(std::size_t max_bytes, batch& out) {
    events_.read(max_bytes, read_);
    out.ended = read_.ended;
    out.cut_off = read_.cut_off;
    std::string_view rest = read_.bytes;
    while (!rest.empty()) {
        const event_records::record next = event_records::take_first(rest);
        messages_.take(next.event);
        numbered_ = next.sequence != 0;
        if (numbered_) {
            sequence_ = next.sequence;
        }
        const bool known = numbered_ && sequence_ <= after_;
        if (messages_.changed() && known) {
            messages_.skip_frame();
        } else if (messages_.changed() && mode_ == chat_mode::incremental) {
            write_frame(out.bytes);
        }
    }
}

// Returns false if there is no memory for `bytes`.
bool chat_stream::hold(std::size_t bytes) noexcept {
    memory_.set_use(bytes > small_stream_bytes ? memory_use::ordinary : memory_use::small);
    if (!memory_.grow_to(bytes)) {
        return false;
    }
    memory_.shrink_to(bytes);
    return true;
}

void chat_stream::write_frame(std::string& out) {
    sse_form().begin_event(numbered_ ? sequence_ : 0, out);
    const std::size_t json_at = out.size();
    messages_.write_frame(out);
    sse_form().end_event(json_at, out);
}

boost::asio::awaitable<void> chat_stream::wait() { return events_.wait(); }

void chat_stream::wake() { events_.wake(); }

void chat_stream::cut_off() noexcept { events_.cut_off(); }

// In full mode a backlog is replaced, not sent.
std::size_t chat_stream::backlog_bytes() const {
    return mode_ == chat_mode::full ? 0 : events_.backlog_bytes();
}

std::string_view chat_stream::heartbeat() const noexcept { return sse_form().heartbeat(); }

std::string_view chat_stream::cut_off_note() const noexcept {
    return refused_ ? ": cut off: there is not enough memory; read on from the last id\n\n"
                    : sse_form().cut_off_note();
}

} // namespace agui::gateway
