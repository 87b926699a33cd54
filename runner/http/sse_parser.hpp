#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::runner {

/// Incremental parser of text/event-stream (WHATWG HTML, 9.2.6), bytes cut anywhere. Only `event`
/// and `data` matter here; comments, `id` and `retry` are skipped. Lines end with LF, CR LF or CR.
/// A block of one `data:` line that lies whole in one feed() is delivered without a copy.
class sse_parser {
public:
    /// Receives one event; the views are valid during the call. `event` is empty if the block names
    /// none.
    class handler {
    public:
        virtual ~handler() = default;
        virtual void on_sse(std::string_view event, std::string_view data) = 0;
    };

    /// `max_event_bytes` bounds an unfinished event.
    explicit sse_parser(handler& out, std::size_t max_event_bytes = 16U << 20U);

    /// False if an event exceeded the limit: the parser is then unusable.
    [[nodiscard]] bool feed(std::string_view bytes);

    /// Delivers an event that lacks its empty line at the end of the body: some servers end with a
    /// single newline.
    void finish();

private:
    void line(std::string_view text);
    void dispatch();

    handler& out_;
    std::size_t max_event_bytes_;
    std::string partial_; ///< The start of an incomplete line.
    std::string data_;
    std::string event_;
    bool has_data_ = false;
    bool skip_lf_ = false; ///< The last byte was the CR of a possible CR LF.
    bool at_start_ = true; ///< A byte order mark may follow.
};

} // namespace agui::runner
