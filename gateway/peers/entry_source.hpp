#pragma once

#include "gateway/base/event_source.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/peers/peer_streams.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

/// A run's log after an entry, in the form that another gateway reads (entry_frames.hpp). Counts as
/// one reader of the log. When it ends, that reader counts as cut off, because a connection between
/// gateways may just break, unless the other gateway has reported that its readers left.
class entry_source final : public event_source {
public:
    /// `streams` must outlive this.
    entry_source(
        std::shared_ptr<event_log> log, std::uint64_t after, peer_streams& streams,
        peer_streams::name own
    );

    [[nodiscard]] std::string_view content_type() const noexcept override;
    void open(boost::asio::any_io_executor executor) override;
    void read(std::size_t max_bytes, batch& out) override;
    [[nodiscard]] boost::asio::awaitable<void> wait() override;
    void wake() override;
    void cut_off() noexcept override;
    [[nodiscard]] std::size_t backlog_bytes() const override;
    [[nodiscard]] std::string_view heartbeat() const noexcept override;
    [[nodiscard]] std::optional<std::chrono::milliseconds>
    heartbeat_period() const noexcept override;
    [[nodiscard]] std::string_view cut_off_note() const noexcept override;

private:
    /// Shared with the handler for a reader that leaves. Used on the executor.
    struct place {
        std::shared_ptr<event_log> log;
        event_log::waiter waiter;
        bool left = false;
    };

    const std::shared_ptr<event_log> log_;
    event_log::cursor at_;
    event_log::stored_entries entries_;
    std::optional<event_log::reader_token> token_;
    std::shared_ptr<place> place_; ///< Null until open().
    peer_streams& streams_;
    const peer_streams::name own_;
    std::optional<peer_streams::member> member_;
};

} // namespace agui::gateway
