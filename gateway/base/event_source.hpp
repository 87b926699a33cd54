#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::gateway {

/// The body of a streamed reply: bytes that come over time. Made by a handler, owned and read by
/// one connection, on whose executor all functions are called.
class event_source {
public:
    /// What one read() gives. Owned by the reader, who may use `bytes` until the next read().
    struct batch {
        std::string bytes;  ///< Whole events; empty: nothing more is there yet.
        bool ended = false; ///< Everything has been read, and nothing will follow.
    };

    virtual ~event_source() = default;

    [[nodiscard]] virtual std::string_view content_type() const noexcept = 0;

    /// Called once, before the first read(): whoever reads counts as a reader from here until the
    /// source is destroyed. wait() completes on `executor`.
    virtual void open(boost::asio::any_io_executor executor) = 0;

    /// Fills `out` with what has come since the last time, about `max_bytes` at the most (at least
    /// one event).
    virtual void read(std::size_t max_bytes, batch& out) = 0;

    /// Completes when read() gives something or wake() is called. May complete without a reason:
    /// read again. One wait at a time.
    [[nodiscard]] virtual boost::asio::awaitable<void> wait() = 0;
    virtual void wake() = 0;
    /// The reader does not leave of its own: its connection is closed because it takes too little.
    virtual void cut_off() noexcept = 0;

    /// About how many bytes read() would give.
    [[nodiscard]] virtual std::size_t bytes_behind() const = 0;

    /// Sent after a long silence, so that nothing on the way takes the stream for dead. Empty:
    /// nothing is.
    [[nodiscard]] virtual std::string_view heartbeat() const noexcept = 0;
    /// The last bytes for a reader that is cut off because it is too slow.
    [[nodiscard]] virtual std::string_view cut_off_note() const noexcept = 0;
};

} // namespace agui::gateway
