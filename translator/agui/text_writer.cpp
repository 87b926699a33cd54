#include "translator/agui/text_writer.hpp"

#include "runner/base/json_text.hpp"
#include "translator/agui/event_writer.hpp"

#include <utility>

namespace agui::translator {

// The last character shows whether a comma is needed: no value ends with one of these three.
void text_writer::separate() {
    if (text_.empty()) {
        return;
    }
    const char last = text_.back();
    if (last != '[' && last != '{' && last != ':') {
        text_.push_back(',');
    }
}

void text_writer::begin_object() {
    separate();
    text_.push_back('{');
}

void text_writer::key(std::string_view name) {
    separate();
    runner::append_json_string(text_, name);
    text_.push_back(':');
}

void text_writer::end_object() { text_.push_back('}'); }

void text_writer::begin_array() {
    separate();
    text_.push_back('[');
}

void text_writer::end_array() { text_.push_back(']'); }

void text_writer::string(std::string_view text) {
    separate();
    runner::append_json_string(text_, text);
}

void text_writer::number(const boost::json::value& value) {
    separate();
    append_json(text_, value);
}

void text_writer::literal(std::string_view word) {
    separate();
    text_.append(word);
}

std::string text_writer::take() {
    if (text_.capacity() - text_.size() > text_.size() / 8) {
        text_.shrink_to_fit();
    }
    return std::exchange(text_, {});
}

} // namespace agui::translator
