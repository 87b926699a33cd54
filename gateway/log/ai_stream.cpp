#include "gateway/log/ai_stream.hpp"

#include <string>
#include <utility>

namespace agui::gateway {

namespace {

// Bytes that a chunk adds to its event at most: the names of a chunk for a call's arguments are
// shorter than those of its event.
constexpr std::size_t chunk_bytes_around = 16;
constexpr std::size_t kept_bytes = 512; // Of the record buffer, between two reads.
constexpr std::size_t counted_step = 4096;
// A stream that holds no more may use the memory reserve.
constexpr std::size_t small_stream = 64U << 10U;

run_stream_request events_for(ai_stream_request& what, const event_records& form) {
    run_stream_request events;
    events.log = std::move(what.log);
    events.next = std::move(what.live);
    events.next_offset = what.live_offset;
    events.projection = translator::projection::v1_1;
    events.form = &form;
    events.naming = std::move(what.naming);
    return events;
}

} // namespace

ai_stream::ai_stream(ai_stream_request what)
    : form_(chunk_bytes_around),
      chunks_(std::move(what.start)),
      events_(events_for(what, form_)),
      memory_(what.budget, memory_use::small, counted_step) {}

std::string_view ai_stream::content_type() const noexcept { return sse_form().content_type(); }

std::string_view ai_stream::header() const noexcept { return translator::ui_stream_header; }

void ai_stream::open(boost::asio::any_io_executor executor) { events_.open(std::move(executor)); }

void ai_stream::read(std::size_t max_bytes, batch& out) {
    out.bytes.clear();
    if (refused_) {
        out.cut_off = true;
        return;
    }
    events_.read(max_bytes, read_);
    out.ended = read_.ended;
    out.cut_off = read_.cut_off;
    std::string_view rest = read_.bytes;
    while (!rest.empty()) {
        chunks_.take(event_records::take_first(rest).event, out.bytes);
    }
    chunks_.write_changes(out.bytes);
    if (read_.bytes.capacity() > kept_bytes) {
        std::string().swap(read_.bytes);
    }
    memory_.set_use(chunks_.bytes() > small_stream ? memory_use::ordinary : memory_use::small);
    if (!memory_.grow_to(chunks_.bytes())) {
        refused_ = true;
        out.ended = false;
        out.cut_off = true;
        return;
    }
    memory_.shrink_to(chunks_.bytes());
}

boost::asio::awaitable<void> ai_stream::wait() { return events_.wait(); }

void ai_stream::wake() { events_.wake(); }

void ai_stream::cut_off() noexcept { events_.cut_off(); }

std::size_t ai_stream::backlog_bytes() const { return events_.backlog_bytes(); }

std::string_view ai_stream::heartbeat() const noexcept { return sse_form().heartbeat(); }

std::string_view ai_stream::cut_off_note() const noexcept {
    return refused_ ? ": cut off: there is not enough memory\n\n"
                    : ": cut off: too far behind; read the stream again\n\n";
}

} // namespace agui::gateway
