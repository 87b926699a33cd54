#pragma once

#include "gateway/log/stream_form.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::gateway {

/// Events one after the other in memory, so that a reader that makes something else of them reads
/// them outside the log's mutex.
class event_records final : public stream_form {
public:
    /// `bytes_around`: the bytes that the reader's form adds to an event.
    explicit event_records(std::size_t bytes_around) : bytes_around_(bytes_around) {}
    [[nodiscard]] std::string_view content_type() const noexcept override { return {}; }
    void begin_event(std::uint64_t sequence, std::string& out) const override;
    void end_event(std::size_t json_at, std::string& out) const override;
    [[nodiscard]] std::size_t bytes_around() const noexcept override { return bytes_around_; }
    [[nodiscard]] std::string_view heartbeat() const noexcept override { return {}; }
    [[nodiscard]] std::string_view cut_off_note() const noexcept override { return {}; }

    struct record {
        std::uint64_t sequence = 0; ///< 0 if the event has no number.
        std::string_view event;     ///< Its JSON.
    };
    /// Removes the first record from `records`, which must not be empty, and returns it.
    [[nodiscard]] static record take_first(std::string_view& records) noexcept;

private:
    std::size_t bytes_around_;
};

} // namespace agui::gateway
