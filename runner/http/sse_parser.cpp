#include "runner/http/sse_parser.hpp"

#include <cstring>

namespace agui::runner {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Position of `byte` at or after `from`, or the text's length.
std::size_t find(std::string_view text, std::size_t from, char byte) noexcept {
    if (from >= text.size()) {
        return text.size();
    }
    const void* const hit = std::memchr(text.data() + from, byte, text.size() - from);
    return hit == nullptr ? text.size()
                          : static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
}

/// The value of a line `name:value` or `name: value`: the format strips one space.
std::string_view value_after(std::string_view line, std::size_t colon) noexcept {
    line.remove_prefix(colon + 1);
    if (!line.empty() && line.front() == ' ') {
        line.remove_prefix(1);
    }
    return line;
}

} // namespace

sse_parser::sse_parser(handler& out, std::size_t max_event_bytes)
    : out_(out), max_event_bytes_(max_event_bytes) {}

bool sse_parser::feed(std::string_view bytes) {
    if (skip_lf_ && !bytes.empty()) {
        skip_lf_ = false;
        if (bytes.front() == '\n') {
            bytes.remove_prefix(1);
        }
    }
    std::size_t start = 0;
    // Both positions are kept until they are passed: bytes with only one kind of line end are then
    // searched only once for the other kind.
    std::size_t lf = find(bytes, 0, '\n');
    std::size_t cr = find(bytes, 0, '\r');
    while (start < bytes.size()) {
        const std::size_t end = lf < cr ? lf : cr;
        if (end == bytes.size()) {
            partial_.append(bytes.substr(start));
            break;
        }
        const std::string_view text = bytes.substr(start, end - start);
        start = end + 1;
        if (end == cr) {
            if (start == bytes.size()) {
                skip_lf_ = true;
            } else if (bytes[start] == '\n') {
                ++start;
            }
            cr = find(bytes, start, '\r');
        }
        if (lf < start) {
            lf = find(bytes, start, '\n');
        }

        if (!partial_.empty()) {
            partial_.append(text);
            // Moved out, because line() must not read from a string that it may clear.
            std::string whole;
            whole.swap(partial_);
            line(whole);
            whole.clear();
            partial_.swap(whole);
        } else if (
            // A block with one data line whose end is in the input, too, is delivered without a
            // copy; the empty line after it then finds nothing to dispatch.
            !at_start_ && !has_data_ && start < bytes.size() &&
            (bytes[start] == '\n' || bytes[start] == '\r') && text.starts_with("data:")
        ) {
            out_.on_sse(event_, value_after(text, 4));
            event_.clear();
        } else {
            line(text);
        }
        if (data_.size() + event_.size() > max_event_bytes_) {
            return false;
        }
    }
    // A stream that waits for its next event frees the memory of the last one.
    for (std::string* const idle : {&partial_, &data_}) {
        if (idle->empty() && idle->capacity() > std::string().capacity()) {
            std::string().swap(*idle);
        }
    }
    return partial_.size() + data_.size() + event_.size() <= max_event_bytes_;
}

void sse_parser::finish() {
    if (!partial_.empty()) {
        std::string whole;
        whole.swap(partial_);
        line(whole);
    }
    dispatch();
}

void sse_parser::line(std::string_view text) {
    if (at_start_) {
        at_start_ = false;
        if (text.starts_with(byte_order_mark)) {
            text.remove_prefix(byte_order_mark.size());
        }
    }
    if (text.empty()) {
        dispatch();
        return;
    }
    // A line without a colon is a field without a value.
    const std::size_t colon = find(text, 0, ':');
    const std::string_view name = text.substr(0, colon);
    const std::string_view value =
        colon == text.size() ? std::string_view() : value_after(text, colon);
    if (name == "data") {
        data_line(value);
    } else if (name == "event") {
        event_.assign(value);
    }
}

void sse_parser::data_line(std::string_view value) {
    if (has_data_ && ends_event()) {
        lacks_empty_lines_ = true;
        dispatch();
    }
    if (has_data_) {
        data_.push_back('\n');
    }
    has_data_ = true;
    data_.append(value);
    if (lacks_empty_lines_ && ends_event()) {
        dispatch();
    }
}

bool sse_parser::ends_event() {
    const std::string_view more = std::string_view(data_).substr(asked_);
    asked_ = data_.size();
    return out_.ends_event(more);
}

void sse_parser::dispatch() {
    if (has_data_) {
        out_.on_sse(event_, data_);
    }
    data_.clear();
    asked_ = 0;
    event_.clear();
    has_data_ = false;
}

} // namespace agui::runner
