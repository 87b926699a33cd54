#pragma once

#include "gateway/base/event_source.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/log/stream_form.hpp"
#include "gateway/log/thread_naming.hpp"
#include "translator/agui/protocol_version.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace agui::gateway {

/// Selects a reader's events and their form.
struct run_stream_request {
    std::shared_ptr<event_log> log;
    translator::projection projection = translator::projection::undeclared;
    std::uint64_t after = 0;  ///< The number in `log` of the last event that the reader has.
    std::uint64_t offset = 0; ///< Added to the numbers in `log` (session::first_number).
    /// Read from its first event on once `log` has ended, but without results of earlier calls,
    /// which `log` shows. May be null.
    std::shared_ptr<event_log> next;
    std::uint64_t next_offset = 0;                         ///< The same for `next`.
    const stream_form* form = &sse_form();                 ///< Must outlive the reader.
    std::uint64_t split_at = 0;                            ///< No joined event spans this number.
    std::shared_ptr<const thread_naming> naming = nullptr; ///< Null for the thread's owner.
};

/// A run's log, from a cursor to its end, as the body of a reply. If the run is lost to another
/// process, the stream continues with the events that that process stores.
class run_stream final : public event_source {
public:
    explicit run_stream(run_stream_request what);

    [[nodiscard]] std::string_view content_type() const noexcept override;
    void open(boost::asio::any_io_executor executor) override;
    void read(std::size_t max_bytes, batch& out) override;
    [[nodiscard]] boost::asio::awaitable<void> wait() override;
    void set_step(woken_step& step) override;
    [[nodiscard]] bool wait_again(resumption& here) override;
    void wake() override;
    void cut_off() noexcept override;
    [[nodiscard]] std::size_t backlog_bytes() const override;
    [[nodiscard]] std::string_view heartbeat() const noexcept override;
    [[nodiscard]] std::string_view cut_off_note() const noexcept override;

private:
    void go_on_in(std::shared_ptr<event_log> log);

    const std::optional<renamed_form> renamed_;
    const stream_form& form_;
    std::shared_ptr<event_log> log_;
    std::shared_ptr<event_log> next_;
    event_log::cursor at_;
    std::uint64_t next_offset_;
    std::optional<event_log::reader_token> token_;
    std::optional<event_log::reader_token> next_token_;
    std::optional<event_log::waiter> waiter_; ///< Empty until open().
};

} // namespace agui::gateway
