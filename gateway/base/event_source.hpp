#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

class resumption;
class woken_step;

/// The body of a streamed reply: bytes that arrive over time. Made by a handler, owned and read by
/// one connection, on whose executor all functions are called.
class event_source {
public:
    /// The result of one read(). Owned by the reader, who may use `bytes` until the next read().
    struct batch {
        std::string bytes;  ///< Whole events. Empty if there is nothing new.
        bool ended = false; ///< Everything has been read, and nothing more will come.
        /// Nothing more has come yet, so that the reader may wait without another read().
        bool caught_up = false;
        /// The reader is to be cut off, because there is no memory for more events.
        bool cut_off = false;
    };

    virtual ~event_source() = default;

    [[nodiscard]] virtual std::string_view content_type() const noexcept = 0;

    /// A header of the reply besides those of every stream, as `name: value`. Empty if there is
    /// none.
    [[nodiscard]] virtual std::string_view header() const noexcept { return {}; }

    /// Called once, before the first read(). From here until the source is destroyed, its owner
    /// counts as a reader. wait() will complete on `executor`.
    virtual void open(boost::asio::any_io_executor executor) = 0;

    /// Fills `out` with the events since the last call: about `max_bytes` at most, but no less than
    /// one event if there is one.
    virtual void read(std::size_t max_bytes, batch& out) = 0;

    /// Completes when read() would return something, when wake() is called, or spuriously. One wait
    /// at a time.
    [[nodiscard]] virtual boost::asio::awaitable<void> wait() = 0;
    /// Called after open(). Whenever a wait() is to complete, `step` runs first, which outlives the
    /// source. A source may ignore it.
    virtual void set_step(woken_step& step) { (void)step; }
    /// Called by that step: lets `here` wait again, unless read() would return something. Returns
    /// true if it waits.
    [[nodiscard]] virtual bool wait_again(resumption& here) {
        (void)here;
        return false;
    }
    /// Makes the current wait() complete.
    virtual void wake() = 0;
    /// Called when the server ends the connection, because the reader is too slow or at shutdown.
    /// The reader then does not count as having left. May be called more than once.
    virtual void cut_off() noexcept = 0;

    /// The approximate number of bytes that are still to be read.
    [[nodiscard]] virtual std::size_t backlog_bytes() const = 0;

    /// Bytes sent after a long silence, so that no proxy considers the stream dead. Empty if none
    /// are sent.
    [[nodiscard]] virtual std::string_view heartbeat() const noexcept = 0;
    /// Length of that silence. nullopt if server.heartbeat_seconds applies. The silence before the
    /// first byte is shorter.
    [[nodiscard]] virtual std::optional<std::chrono::milliseconds>
    heartbeat_period() const noexcept {
        return std::nullopt;
    }
    /// The last bytes for a reader that is cut off because it is too slow. Empty if none are sent.
    /// The body has no clean end in either case.
    [[nodiscard]] virtual std::string_view cut_off_note() const noexcept = 0;
};

} // namespace agui::gateway
