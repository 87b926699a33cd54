#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::bench {

// Receives the events of one stream. The views are valid during the call only. Returns an empty
// text to accept the event; any other text is its fault and ends the decoding.
class event_sink {
public:
    virtual ~event_sink() = default;
    [[nodiscard]] virtual std::string on_event(std::string_view id, std::string_view data) = 0;
};

// Incremental decoder of one HTTP/1.1 response whose body is a chunked SSE stream or, if the server
// says so, frames of protobuf, which are events without an id. Proxies cut and join chunks, so
// chunk framing is removed before lines are looked for. Only status 200, these two types and
// chunked framing are accepted, because no other response can show that its end is clean.
class sse_decoder {
public:
    explicit sse_decoder(event_sink& sink) : sink_(sink) {}

    // Takes the next bytes of the connection. Returns false after any fault, which error()
    // describes.
    [[nodiscard]] bool feed(std::string_view bytes);

    // True once the last chunk and its trailer have arrived.
    [[nodiscard]] bool complete() const { return part_ == part::complete; }
    [[nodiscard]] bool events_seen() const { return events_seen_; }
    [[nodiscard]] const std::string& error() const { return error_; }

private:
    enum class part { header, chunk_size, chunk_data, chunk_end, trailer, complete };

    bool fail(std::string message);
    bool take_header_line(std::string_view line);
    bool end_header();
    bool take_chunk_size(std::string_view line);
    bool take_protocol_line(std::string_view line);
    bool take_body(std::string_view bytes);
    bool take_event_line(std::string_view line);
    bool take_frames(std::string_view bytes);
    bool give_event();

    event_sink& sink_;
    part part_ = part::header;
    std::string protocol_line_; // the part of a header, chunk-size or trailer line that has arrived
    std::size_t chunk_left_ = 0;
    bool status_seen_ = false;
    bool chunked_ = false;
    bool event_stream_ = false;
    bool frames_ = false;
    std::string event_line_; // the part of an SSE line that has arrived
    std::string event_id_;
    std::string event_data_;
    bool has_data_ = false;
    bool events_seen_ = false;
    std::string error_;
};

} // namespace agui::bench
