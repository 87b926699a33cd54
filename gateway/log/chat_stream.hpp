#pragma once

#include "gateway/base/event_source.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/log/event_records.hpp"
#include "gateway/log/run_stream.hpp"
#include "session/base/memory_budget.hpp"
#include "translator/chat_stream/chat_messages.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace agui::gateway {

/// Selects the frames of a run that a reader is sent.
struct chat_stream_request {
    std::shared_ptr<event_log> log;
    std::string session_id;
    std::string message_id;
    translator::chat_mode mode = translator::chat_mode::incremental;
    std::uint64_t after = 0;  ///< The number, in the log, of the last frame that the reader has.
    std::uint64_t offset = 0; ///< Added to these numbers (session::first_number).
    memory_budget* budget = nullptr; ///< Counts the reader's memory; may be null.
    std::shared_ptr<const thread_naming> naming = nullptr; ///< run_stream_request::naming
};

/// A run's log as frames of the chat stream, sent as server-sent events. A frame has the number of
/// the last event in it. In incremental mode, each event that changes a message makes a frame, the
/// same for all readers. In full mode, a frame is made when the reader is ready for one and holds
/// everything so far, so that a slow reader lags by at most one frame; if there is no memory for
/// messages and frame, the reader is cut off.
class chat_stream final : public event_source {
public:
    explicit chat_stream(const chat_stream_request& what);

    [[nodiscard]] std::string_view content_type() const noexcept override;
    void open(boost::asio::any_io_executor executor) override;
    void read(std::size_t max_bytes, batch& out) override;
    [[nodiscard]] boost::asio::awaitable<void> wait() override;
    void wake() override;
    void cut_off() noexcept override;
    [[nodiscard]] std::size_t backlog_bytes() const override;
    [[nodiscard]] std::string_view heartbeat() const noexcept override;
    [[nodiscard]] std::string_view cut_off_note() const noexcept override;

private:
    [[nodiscard]] static run_stream_request
    events_of(const chat_stream_request& what, const event_records& form);
    void read_pieces(std::size_t max_bytes, batch& out);
    void read_whole(std::size_t max_bytes, batch& out);
    void take_events(std::size_t max_bytes, batch& out);
    [[nodiscard]] bool hold(std::size_t bytes) noexcept;
    void write_frame(std::string& out);

    const translator::chat_mode mode_;
    const std::uint64_t after_;
    translator::chat_messages messages_;
    const std::size_t frame_bytes_around_; ///< Bytes that a frame adds to its event's text.
    const event_records form_;
    run_stream events_;
    batch read_;                 ///< Output of `events_`, as records.
    std::uint64_t sequence_ = 0; ///< Number of the last numbered event.
    bool numbered_ = true;       ///< False if the last event had no number.
    bool refused_ = false;       ///< There was no memory for the next frame.
    memory_share memory_;
};

} // namespace agui::gateway
