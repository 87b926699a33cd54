#include "tests/bench/sse_decoder.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <charconv>

namespace agui::bench {
namespace {

constexpr std::size_t protocol_line_bytes_max = 16'384;

std::string_view without_cr(std::string_view line) {
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    return line;
}

} // namespace

bool sse_decoder::fail(std::string message) {
    error_ = std::move(message);
    return false;
}

bool sse_decoder::feed(std::string_view bytes) {
    while (!bytes.empty()) {
        if (part_ == part::complete) {
            return fail("bytes after the end of the response");
        }
        if (part_ == part::chunk_data) {
            const std::size_t count = std::min(bytes.size(), chunk_left_);
            if (!take_body(bytes.substr(0, count))) {
                return false;
            }
            bytes.remove_prefix(count);
            chunk_left_ -= count;
            if (chunk_left_ == 0) {
                part_ = part::chunk_end;
            }
            continue;
        }
        const std::size_t line_end = bytes.find('\n');
        protocol_line_.append(bytes.substr(0, line_end));
        if (protocol_line_.size() > protocol_line_bytes_max) {
            return fail("a header or chunk line without an end");
        }
        if (line_end == std::string_view::npos) {
            return true;
        }
        bytes.remove_prefix(line_end + 1);
        if (!take_protocol_line(without_cr(protocol_line_))) {
            return false;
        }
        protocol_line_.clear();
    }
    return true;
}

bool sse_decoder::take_protocol_line(std::string_view line) {
    switch (part_) {
    case part::header:
        return line.empty() ? end_header() : take_header_line(line);
    case part::chunk_size:
        return take_chunk_size(line);
    case part::chunk_end:
        part_ = part::chunk_size;
        return line.empty() || fail("a chunk longer than its size says");
    case part::trailer:
        if (line.empty()) {
            part_ = part::complete;
        }
        return true;
    case part::chunk_data:
    case part::complete:
        break;
    }
    return fail("decoder out of step");
}

bool sse_decoder::take_header_line(std::string_view line) {
    if (!status_seen_) {
        status_seen_ = true;
        return line.starts_with("HTTP/1.1 200") || fail("answered with " + std::string(line));
    }
    const std::string field = to_lower(line);
    if (field.starts_with("transfer-encoding:")) {
        chunked_ = field.find("chunked") != std::string::npos;
    } else if (field.starts_with("content-type:")) {
        frames_ = field.find("application/vnd.ag-ui.event+proto") != std::string::npos;
        event_stream_ = frames_ || field.find("text/event-stream") != std::string::npos;
    }
    return true;
}

bool sse_decoder::end_header() {
    if (!event_stream_) {
        return fail("the response is no text/event-stream");
    }
    if (!chunked_) {
        return fail("the response is not chunked, so a clean end could not be told from a cut");
    }
    part_ = part::chunk_size;
    return true;
}

bool sse_decoder::take_chunk_size(std::string_view line) {
    const auto [end, error] =
        std::from_chars(line.data(), line.data() + line.size(), chunk_left_, 16);
    if (error != std::errc() || (end != line.data() + line.size() && *end != ';' && *end != ' ')) {
        return fail("not a chunk size: " + std::string(line));
    }
    part_ = chunk_left_ == 0 ? part::trailer : part::chunk_data;
    return true;
}

bool sse_decoder::give_event() {
    events_seen_ = true;
    std::string objection = sink_.on_event(event_id_, event_data_);
    return objection.empty() || fail(std::move(objection));
}

bool sse_decoder::take_frames(std::string_view bytes) {
    constexpr std::size_t head = 4;
    event_line_.append(bytes);
    std::string_view rest = event_line_;
    while (rest.size() >= head) {
        std::size_t length = 0;
        for (const char byte : rest.substr(0, head)) {
            length = length << 8U | static_cast<unsigned char>(byte);
        }
        if (rest.size() - head < length) {
            break;
        }
        event_data_.assign(rest.substr(head, length));
        if (!give_event()) {
            return false;
        }
        rest.remove_prefix(head + length);
    }
    event_line_.erase(0, event_line_.size() - rest.size());
    return true;
}

bool sse_decoder::take_body(std::string_view bytes) {
    if (frames_) {
        return take_frames(bytes);
    }
    while (!bytes.empty()) {
        const std::size_t line_end = bytes.find('\n');
        if (line_end == std::string_view::npos) {
            event_line_.append(bytes);
            return true;
        }
        bool accepted = false;
        if (event_line_.empty()) {
            accepted = take_event_line(without_cr(bytes.substr(0, line_end)));
        } else {
            event_line_.append(bytes.substr(0, line_end));
            accepted = take_event_line(without_cr(event_line_));
            event_line_.clear();
        }
        if (!accepted) {
            return false;
        }
        bytes.remove_prefix(line_end + 1);
    }
    return true;
}

bool sse_decoder::take_event_line(std::string_view line) {
    if (line.empty()) {
        if (has_data_ && !give_event()) {
            return false;
        }
        event_id_.clear();
        event_data_.clear();
        has_data_ = false;
        return true;
    }
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view field = line.substr(0, colon);
    std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (value.starts_with(' ')) {
        value.remove_prefix(1);
    }
    if (field == "data") {
        if (has_data_) {
            event_data_ += '\n';
        }
        event_data_.append(value);
        has_data_ = true;
    } else if (field == "id") {
        event_id_.assign(value);
    }
    return true;
}

} // namespace agui::bench
