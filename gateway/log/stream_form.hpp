#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace agui::gateway {

/// Formats the events of a run as the bytes of a reply. Stateless: one object serves all streams,
/// on any thread.
class stream_form {
public:
    virtual ~stream_form() = default;

    [[nodiscard]] virtual std::string_view content_type() const noexcept = 0;

    /// Appends the bytes before an event's JSON. `sequence` is the event's number in the run, or 0
    /// if it has none, so that no reader can continue after it.
    virtual void begin_event(std::uint64_t sequence, std::string& out) const = 0;
    /// Completes the event, whose JSON is in `out` from `json_at` to the end. May replace the JSON.
    virtual void end_event(std::size_t json_at, std::string& out) const = 0;
    /// Approximate number of bytes added to an event's JSON.
    [[nodiscard]] virtual std::size_t bytes_around() const noexcept = 0;

    /// See event_source::heartbeat() and cut_off_note().
    [[nodiscard]] virtual std::string_view heartbeat() const noexcept = 0;
    [[nodiscard]] virtual std::string_view cut_off_note() const noexcept = 0;
};

/// Server-sent events: `id: 7\ndata: {…}\n\n`, as in the AG-UI specification's HTTP transport (HTML
/// standard, section 9.2).
[[nodiscard]] const stream_form& sse_form() noexcept;

inline constexpr std::string_view protobuf_content_type = "application/vnd.ag-ui.event+proto";

/// Frames of protobuf: the length of a message Event (translator/protobuf/ag_ui.proto) in four
/// bytes, the highest first, then the message, as in the AG-UI specification's HTTP + Protobuf
/// transport. A frame has no place for the event's number. There are no heartbeats and no note for
/// a reader that is cut off, because every frame must be an event. end_event() throws
/// std::invalid_argument if the JSON is no event of the protocol.
[[nodiscard]] const stream_form& protobuf_form() noexcept;

} // namespace agui::gateway
