#include "gateway/peers/entry_source.hpp"

#include "gateway/peers/entry_frames.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace agui::gateway {

namespace {

// Memory for entries that a stream keeps between two reads.
constexpr std::size_t kept_entry_bytes = 4096;

} // namespace

entry_source::entry_source(
    std::shared_ptr<event_log> log, std::uint64_t after, peer_streams& streams,
    peer_streams::name own
)
    : log_(std::move(log)), at_{.after = after}, streams_(streams), own_(std::move(own)) {}

std::string_view entry_source::content_type() const noexcept { return entries_content_type; }

void entry_source::open(boost::asio::any_io_executor executor) {
    token_.emplace(log_);
    token_->set_cut_off();
    place_ = std::make_shared<place>(place{log_, event_log::waiter(std::move(executor))});
    member_.emplace(streams_, own_, [at = place_] {
        boost::asio::post(at->waiter.executor(), [at] {
            at->left = true;
            at->log->wake(at->waiter);
        });
    });
}

void entry_source::read(std::size_t max_bytes, batch& out) {
    out.bytes.clear();
    if (place_->left) {
        token_->set_left();
        out.ended = true;
        return;
    }
    log_->read_entries(at_, max_bytes, entries_);
    write_entries(entries_.slice, out.bytes);
    for (const std::string& each : entries_.unnumbered) {
        write_unnumbered(each, out.bytes);
    }
    if (entries_.slice.events.capacity() > kept_entry_bytes) {
        entries_.slice = {}; // A stream that has caught up needs little.
    }
    out.ended = entries_.ended || entries_.is_elsewhere;
    if (out.ended) {
        write_end(entries_.ended ? entries_end::ended : entries_end::moved, out.bytes);
    }
}

boost::asio::awaitable<void> entry_source::wait() { return log_->wait(at_, place_->waiter); }

void entry_source::wake() { log_->wake(place_->waiter); }

void entry_source::cut_off() noexcept {
    // Nothing to do: it counts as cut off by default.
}

std::size_t entry_source::backlog_bytes() const { return log_->backlog_bytes(at_, sse_form()); }

std::string_view entry_source::heartbeat() const noexcept { return alive_frame; }

std::optional<std::chrono::milliseconds> entry_source::heartbeat_period() const noexcept {
    return alive_period;
}

std::string_view entry_source::cut_off_note() const noexcept { return cut_off_frame; }

} // namespace agui::gateway
