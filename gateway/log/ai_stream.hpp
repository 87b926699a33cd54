#pragma once

#include "gateway/base/event_source.hpp"
#include "gateway/log/event_records.hpp"
#include "gateway/log/run_stream.hpp"
#include "session/base/memory_budget.hpp"
#include "translator/ui_message/ui_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace agui::gateway {

/// Selects the run whose events a client of the AI SDK gets.
struct ai_stream_request {
    std::shared_ptr<event_log> log;  ///< The run's log, or the conversation's (is_replay).
    std::shared_ptr<event_log> live; ///< With is_replay, the run's log; otherwise null.
    std::uint64_t live_offset = 0;   ///< run_stream_request::next_offset
    translator::ui_stream_start start;
    memory_budget* budget = nullptr; ///< Counts the reader's memory; may be null.
    std::shared_ptr<const thread_naming> naming = nullptr; ///< run_stream_request::naming
};

/// A run's log as the AI SDK's UI message stream, from the log's beginning. The events have no
/// numbers, because that client reads a stream again from its beginning. If there is no memory for
/// the run's state, activities and arguments, the reader is cut off.
class ai_stream final : public event_source {
public:
    explicit ai_stream(ai_stream_request what);

    [[nodiscard]] std::string_view content_type() const noexcept override;
    [[nodiscard]] std::string_view header() const noexcept override;
    void open(boost::asio::any_io_executor executor) override;
    void read(std::size_t max_bytes, batch& out) override;
    [[nodiscard]] boost::asio::awaitable<void> wait() override;
    void wake() override;
    void cut_off() noexcept override;
    [[nodiscard]] std::size_t backlog_bytes() const override;
    [[nodiscard]] std::string_view heartbeat() const noexcept override;
    [[nodiscard]] std::string_view cut_off_note() const noexcept override;

private:
    const event_records form_;
    translator::ui_stream chunks_;
    run_stream events_;
    batch read_; ///< Output of `events_`, as records.
    memory_share memory_;
    bool refused_ = false; ///< There was no memory for what has been read.
};

} // namespace agui::gateway
