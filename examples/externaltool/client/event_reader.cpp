#include "event_reader.hpp"

#include <charconv>

namespace externaltool {

namespace {

// The field's value without the one space that may follow the colon.
std::string_view value_of(std::string_view line, std::string_view field) {
    line.remove_prefix(field.size());
    if (line.starts_with(' ')) {
        line.remove_prefix(1);
    }
    return line;
}

} // namespace

void event_reader::feed(std::string_view bytes) {
    for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
        rest_ += bytes.substr(0, end);
        bytes.remove_prefix(end + 1);
        take_line(rest_);
        rest_.clear();
    }
    rest_ += bytes;
}

void event_reader::take_line(std::string_view line) {
    if (line.empty()) {
        if (!data_.empty()) {
            on_event_(sequence_, data_);
        }
        data_.clear();
        sequence_ = 0;
    } else if (line.starts_with("data:")) {
        if (!data_.empty()) {
            data_ += '\n';
        }
        data_ += value_of(line, "data:");
    } else if (line.starts_with("id:")) {
        const auto number = value_of(line, "id:");
        std::from_chars(number.data(), number.data() + number.size(), sequence_);
    }
}

} // namespace externaltool
