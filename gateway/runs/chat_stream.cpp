#include "gateway/runs/chat_stream.hpp"

#include "gateway/runs/stream_form.hpp"

#include <cstring>
#include <utility>

namespace agui::gateway {

using translator::chat_mode;

namespace {

// About how much longer a frame is than its event.
constexpr std::size_t frame_bytes_around = 160;
// What is kept of the buffer of records between two reads.
constexpr std::size_t kept_record_bytes = 512;
// The budget is changed in steps of this size.
constexpr std::size_t counted_bytes = 4096;

/// What comes before each event's JSON in a record.
struct record_head {
    std::uint64_t sequence = 0;
    std::uint64_t size = 0;
};

/// Events one after the other in memory, so that they are read outside the log's mutex.
class records final : public stream_form {
public:
    [[nodiscard]] std::string_view content_type() const noexcept override { return {}; }
    void begin_event(std::uint64_t sequence, std::string& out) const override {
        const record_head head{sequence, 0};
        out.append(reinterpret_cast<const char*>(&head), sizeof(head));
    }
    void end_event(std::size_t json_at, std::string& out) const override {
        const std::uint64_t size = out.size() - json_at;
        std::memcpy(out.data() + json_at - sizeof(size), &size, sizeof(size));
    }
    [[nodiscard]] std::size_t bytes_around() const noexcept override { return frame_bytes_around; }
    [[nodiscard]] std::string_view heartbeat() const noexcept override { return {}; }
    [[nodiscard]] std::string_view cut_off_note() const noexcept override { return {}; }
};

const stream_form& record_form() noexcept {
    static const records form;
    return form;
}

run_stream_request events_of(const chat_stream_request& what) {
    run_stream_request events;
    events.log = what.log;
    events.projection = translator::projection::v1_1;
    events.form = &record_form();
    // The messages need all events. What the reader has is taken without being sent, and a frame
    // must not hold a text of which the reader has a part.
    events.split_at = what.after;
    return events;
}

} // namespace

chat_stream::chat_stream(const chat_stream_request& what)
    : mode_(what.mode),
      after_(what.after),
      events_(events_of(what)),
      messages_(what.session_id, what.message_id, what.mode),
      memory_(what.budget, memory_use::small, counted_bytes) {}

std::string_view chat_stream::content_type() const noexcept { return sse_form().content_type(); }

void chat_stream::open(boost::asio::any_io_executor executor) { events_.open(std::move(executor)); }

void chat_stream::read(std::size_t max_bytes, batch& out) {
    out.bytes.clear();
    events_.read(max_bytes, read_);
    out.ended = read_.ended;
    std::string_view rest = read_.bytes;
    while (!rest.empty()) {
        record_head head;
        std::memcpy(&head, rest.data(), sizeof(head));
        rest.remove_prefix(sizeof(head));
        messages_.take(rest.substr(0, head.size));
        rest.remove_prefix(head.size);
        numbered_ = head.sequence != 0;
        if (numbered_) {
            sequence_ = head.sequence;
        }
        const bool known = numbered_ && sequence_ <= after_;
        if (messages_.changed() && known) {
            messages_.skip_frame();
        } else if (messages_.changed() && mode_ == chat_mode::incremental) {
            write_frame(out.bytes);
        }
    }
    if (mode_ == chat_mode::full && messages_.changed() &&
        (out.ended || events_.backlog_bytes() == 0)) {
        write_frame(out.bytes);
    }
    if (read_.bytes.capacity() > kept_record_bytes) {
        std::string().swap(read_.bytes);
    }
    // Counted but never refused: if there is no room, the next run is refused.
    memory_.grow_anyway_to(messages_.bytes());
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

// In full mode what is behind is replaced, not sent.
std::size_t chat_stream::backlog_bytes() const {
    return mode_ == chat_mode::full ? 0 : events_.backlog_bytes();
}

std::string_view chat_stream::heartbeat() const noexcept { return sse_form().heartbeat(); }

std::string_view chat_stream::cut_off_note() const noexcept { return sse_form().cut_off_note(); }

} // namespace agui::gateway
