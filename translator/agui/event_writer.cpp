#include "translator/agui/event_writer.hpp"

#include "runner/base/json_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace agui::translator {
namespace {

enum class byte_class : unsigned char { plain, escaped, multibyte };

constexpr std::array<byte_class, 256> make_classes() {
    std::array<byte_class, 256> classes{};
    for (std::size_t byte = 0; byte < classes.size(); ++byte) {
        if (byte >= 0x80) {
            classes[byte] = byte_class::multibyte;
        } else if (byte < 0x20 || byte == '"' || byte == '\\') {
            classes[byte] = byte_class::escaped;
        }
    }
    return classes;
}

constexpr auto classes = make_classes();
// In a delta event: what is between its id and its text, and where its type begins.
constexpr std::string_view after_id = R"(","delta":)";
constexpr std::size_t type_begin = std::string_view(R"({"type":")").size();

constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD

struct sequence {
    /// How many bytes to skip: of an invalid sequence the longest valid prefix, but at least one.
    std::size_t length;
    bool valid;
};

/// The UTF-8 sequence at the start of `text` (Unicode 15, table 3-7).
sequence read_sequence(std::string_view text) {
    const auto at = [text](std::size_t index) {
        return static_cast<unsigned char>(text[index]);
    };
    const unsigned lead = at(0);
    unsigned lower = 0x80;
    unsigned upper = 0xBF;
    std::size_t length = 0;
    if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        lower = lead == 0xE0 ? 0xA0 : 0x80;
        upper = lead == 0xED ? 0x9F : 0xBF;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        lower = lead == 0xF0 ? 0x90 : 0x80;
        upper = lead == 0xF4 ? 0x8F : 0xBF;
    } else {
        return {1, false};
    }
    for (std::size_t index = 1; index < length; ++index) {
        if (index == text.size() || at(index) < lower || at(index) > upper) {
            return {index, false};
        }
        lower = 0x80;
        upper = 0xBF;
    }
    return {length, true};
}

template <class Number>
void append_number(std::string& out, Number number) {
    std::array<char, 32> digits; // The longest double has 24 characters.
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

} // namespace

void append_json_string(std::string& out, std::string_view text) {
    out.push_back('"');
    std::size_t run = 0; // Where that begins which is not copied yet.
    std::size_t at = 0;
    while (at < text.size()) {
        const byte_class what = classes[static_cast<unsigned char>(text[at])];
        if (what == byte_class::plain) {
            ++at;
            continue;
        }
        if (what == byte_class::escaped) {
            out.append(text.data() + run, at - run);
            runner::append_json_escape(out, text[at]);
            run = ++at;
            continue;
        }
        const sequence found = read_sequence(text.substr(at));
        if (!found.valid) {
            out.append(text.data() + run, at - run);
            out.append(replacement);
            run = at + found.length;
        }
        at += found.length;
    }
    out.append(text.data() + run, at - run);
    out.push_back('"');
}

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
        append_json_string(out, value.get_string());
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
            append_json_string(out, member.key());
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
    append_json_string(buffer_, text);
    buffer_.push_back('}');
    return buffer_;
}

void event_writer::begin_delta(
    std::string_view type, std::string_view id_key, std::string_view id
) {
    begin(type);
    append_key(id_key);
    delta_id_ = buffer_.size() + 1;
    append_json_string(buffer_, id);
    const bool as_it_is = buffer_.size() == delta_id_ + id.size() + 1;
    append_key("delta");
    // Of an id with escapes the written form would be compared with the plain one.
    delta_begin_ = as_it_is ? buffer_.size() : 0;
}

void event_writer::raw_member(std::string_view key, std::string_view json) {
    append_key(key);
    buffer_.append(json);
}

void event_writer::member(std::string_view key, std::string_view text) {
    append_key(key);
    append_json_string(buffer_, text);
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
