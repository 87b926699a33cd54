#include "translator/agui/event_writer.hpp"

#include "runner/base/json_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace agui::translator {
namespace {

// The part of a delta event between its id and its text, and the offset of its type.
constexpr std::string_view after_id = R"(","delta":)";
// Capacity that the buffer keeps for the next event; most events are shorter.
constexpr std::size_t kept_bytes = 64U << 10U;
constexpr std::size_t type_begin = std::string_view(R"({"type":")").size();

template <class Number>
void append_number(std::string& out, Number number) {
    std::array<char, 32> digits; // The longest double has 24 characters.
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

} // namespace

void append_json(std::string& out, const boost::json::value& value) {
    switch (value.kind()) {
    case boost::json::kind::null:
        out.append("null");
        return;
    case boost::json::kind::bool_:
        out.append(value.get_bool() ? "true" : "false");
        return;
    case boost::json::kind::int64:
        append_number(out, value.get_int64());
        return;
    case boost::json::kind::uint64:
        append_number(out, value.get_uint64());
        return;
    case boost::json::kind::double_:
        // JSON has no infinity and no NaN; a parser gives infinity for numbers that are too large.
        if (std::isfinite(value.get_double())) {
            append_number(out, value.get_double());
        } else {
            out.append("null");
        }
        return;
    case boost::json::kind::string:
        runner::append_json_string(out, value.get_string());
        return;
    case boost::json::kind::array: {
        char separator = '[';
        for (const boost::json::value& element : value.get_array()) {
            out.push_back(separator);
            append_json(out, element);
            separator = ',';
        }
        out.append(separator == '[' ? "[]" : "]");
        return;
    }
    case boost::json::kind::object: {
        char separator = '{';
        for (const auto& member : value.get_object()) {
            out.push_back(separator);
            runner::append_json_string(out, member.key());
            out.push_back(':');
            append_json(out, member.value());
            separator = ',';
        }
        out.append(separator == '{' ? "{}" : "}");
        return;
    }
    }
}

void event_writer::begin(std::string_view type) {
    delta_begin_ = 0;
    if (buffer_.capacity() > kept_bytes) {
        std::string().swap(buffer_);
    }
    buffer_.assign("{\"type\":\"");
    buffer_.append(type);
    buffer_.push_back('"');
}

std::string_view event_writer::delta(
    std::string_view type, std::string_view id_key, std::string_view id, std::string_view text
) {
    const std::string_view written = buffer_;
    const bool same =
        delta_begin_ != 0 && delta_begin_ == delta_id_ + id.size() + after_id.size() &&
        written.substr(type_begin, type.size()) == type &&
        written[type_begin + type.size()] == '"' && written.substr(delta_id_, id.size()) == id;
    if (same) {
        buffer_.resize(delta_begin_);
    } else {
        begin_delta(type, id_key, id);
    }
    runner::append_json_string(buffer_, text);
    buffer_.push_back('}');
    return buffer_;
}

void event_writer::begin_delta(
    std::string_view type, std::string_view id_key, std::string_view id
) {
    begin(type);
    append_key(id_key);
    delta_id_ = buffer_.size() + 1;
    runner::append_json_string(buffer_, id);
    const bool as_it_is = buffer_.size() == delta_id_ + id.size() + 1;
    append_key("delta");
    // With escapes, the written id would differ from the plain one in the comparison.
    delta_begin_ = as_it_is ? buffer_.size() : 0;
}

void event_writer::raw_member(std::string_view key, std::string_view json) {
    append_key(key);
    buffer_.append(json);
}

void event_writer::member(std::string_view key, std::string_view text) {
    append_key(key);
    runner::append_json_string(buffer_, text);
}

void event_writer::member(std::string_view key, std::int64_t number) {
    append_key(key);
    append_number(buffer_, number);
}

void event_writer::member(std::string_view key, const boost::json::value& value) {
    append_key(key);
    append_json(buffer_, value);
}

std::string_view event_writer::end() {
    buffer_.push_back('}');
    return buffer_;
}

void event_writer::append_key(std::string_view key) {
    buffer_.append(",\"");
    buffer_.append(key);
    buffer_.append("\":");
}

} // namespace agui::translator
