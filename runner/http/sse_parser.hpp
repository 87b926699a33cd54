#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::runner {

/// An incremental parser of text/event-stream (WHATWG HTML, 9.2.6), from bytes cut anywhere. Only
/// `event` and `data` are used; comments, `id` and `retry` are skipped. Lines end with LF, CR LF or
/// CR. An event with one `data:` line that comes whole in one feed() is delivered without a copy.
/// Servers may leave out the empty line between events if the handler can tell an event by its
/// data.
class sse_parser {
public:
    /// Receives one event; the views are valid during the call. `event` is empty if the block has
    /// no name.
    class handler {
    public:
        virtual ~handler() = default;
        virtual void on_sse(std::string_view event, std::string_view data) = 0;
        /// True if the data since the last on_sse() is a complete event although another data line
        /// follows. Asked only then, and once for each following line. `more` is the data that came
        /// since the last question, so that each byte is given once; it may be empty.
        [[nodiscard]] virtual bool ends_event(std::string_view more) {
            (void)more;
            return false;
        }
    };

    /// `max_event_bytes` limits an incomplete event. `out` must outlive this object.
    explicit sse_parser(handler& out, std::size_t max_event_bytes = 16U << 20U);

    /// Returns false if an event exceeded the limit; the parser is then unusable.
    [[nodiscard]] bool feed(std::string_view bytes);

    /// Call it at the end of the body. Delivers an event that lacks its empty line: some servers
    /// end with a single newline.
    void finish();

    /// Memory of an incomplete event. Completing the event takes as much again.
    [[nodiscard]] std::size_t kept() const noexcept {
        return partial_.capacity() + data_.capacity();
    }

private:
    void line(std::string_view text);
    void data_line(std::string_view value);
    [[nodiscard]] bool ends_event();
    void dispatch();

    handler& out_;
    std::size_t max_event_bytes_;
    std::string partial_; ///< The start of an incomplete line.
    std::string data_;
    std::size_t asked_ = 0; ///< Length of the data that handler::ends_event() was given.
    std::string event_;
    bool has_data_ = false;
    bool skip_lf_ = false; ///< The last byte was the CR of a possible CR LF.
    bool at_start_ = true; ///< A byte order mark may follow.
    /// The next event's data followed an event without an empty line.
    bool lacks_empty_lines_ = false;
};

} // namespace agui::runner
