#include "translator/protobuf/delta_encoder.hpp"

#include "session/base/leb128.hpp"
#include "translator/agui/delta_text.hpp"
#include "translator/protobuf/reverse_writer.hpp"
#include "translator/schema/event_tables.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace agui::translator {
namespace {

/// The parts that all deltas of one type have in common.
struct delta_shape {
    std::string_view begin; ///< The event up to its id.
    unsigned arm;
    unsigned enumerator;
    unsigned id_number;
    unsigned delta_number;
};

consteval delta_shape
shape_of(std::string_view type, std::string_view id_key, std::string_view begin) {
    const tables::event_type& event = *tables::find_event(type);
    return {
        begin, event.arm, event.enumerator, tables::find_named(event.members, id_key)->number,
        tables::find_named(event.members, "delta")->number
    };
}

constexpr delta_shape delta_shapes[] = {
    shape_of(
        "TEXT_MESSAGE_CONTENT", "messageId", R"({"type":"TEXT_MESSAGE_CONTENT","messageId":")"
    ),
    shape_of(
        "REASONING_MESSAGE_CONTENT", "messageId",
        R"({"type":"REASONING_MESSAGE_CONTENT","messageId":")"
    ),
    shape_of("TOOL_CALL_ARGS", "toolCallId", R"({"type":"TOOL_CALL_ARGS","toolCallId":")"),
};

constexpr std::string_view after_id = R"(",)";

/// Writes forward, to a place in front of the bytes that are still to be read.
class forward_writer {
public:
    explicit forward_writer(char* to) noexcept : to_(to) {}

    [[nodiscard]] char* end() const noexcept { return to_; }
    void varint(std::uint64_t value) noexcept { to_ += session::write_leb128(to_, value); }
    void length(unsigned number, std::size_t bytes) noexcept {
        varint(number << 3U | static_cast<unsigned>(wire_type::length_delimited));
        varint(bytes);
    }
    void text(unsigned number, std::string_view bytes) noexcept {
        length(number, bytes.size());
        std::memmove(to_, bytes.data(), bytes.size());
        to_ += bytes.size();
    }

private:
    char* to_;
};

constexpr std::size_t varint_bytes(std::uint64_t value) noexcept {
    std::size_t bytes = 1;
    for (; value >= 0x80; value >>= 7U) {
        ++bytes;
    }
    return bytes;
}

/// The length of a field with a tag and a length of its own.
constexpr std::size_t field_bytes(unsigned number, std::size_t content) noexcept {
    return varint_bytes(number << 3U) + varint_bytes(content) + content;
}

// The escapes that append_json_string() writes, and the character that each stands for.
constexpr std::string_view escape_names = "\"\\/bfnrt";
constexpr std::string_view escaped_characters = "\"\\/\b\f\n\r\t";
constexpr std::string_view control_escape = "u00"; // Two digits follow.

/// The character of the escape at the beginning of `text`, after its backslash; nullopt if it is
/// not one of append_json_string().
std::optional<char> unescaped(std::string_view text, std::size_t& length) noexcept {
    const std::size_t name = escape_names.find(text.front());
    if (name != std::string_view::npos) {
        length = 1;
        return escaped_characters[name];
    }
    length = control_escape.size() + 2;
    unsigned code = 0;
    if (text.size() < length || !text.starts_with(control_escape)) {
        return std::nullopt;
    }
    const char* const end = text.data() + length;
    const auto read = std::from_chars(end - 2, end, code, 16);
    const bool is_ascii = read.ec == std::errc() && read.ptr == end && code < 0x80;
    return is_ascii ? std::optional(static_cast<char>(code)) : std::nullopt;
}

/// Returns true if the text has no escapes but those of append_json_string(), from `first` on.
bool can_unescape(std::string_view text, std::size_t first) noexcept {
    for (std::size_t at = first; at != std::string_view::npos; at = text.find('\\', at)) {
        std::size_t length = 0;
        if (!unescaped(text.substr(at + 1), length)) {
            return false;
        }
        at += 1 + length;
    }
    return true;
}

/// Resolves the escapes in place, the first of which is at `from`. Returns the length of the text.
std::size_t unescape(char* text, std::size_t bytes, std::size_t from) noexcept {
    const std::string_view given(text, bytes);
    std::size_t to = from;
    while (from < bytes) {
        if (text[from] != '\\') {
            text[to++] = text[from++];
            continue;
        }
        std::size_t length = 0;
        text[to++] = unescaped(given.substr(from + 1), length).value_or(' ');
        from += 1 + length;
    }
    return to;
}

} // namespace

bool encode_delta(std::string& out, std::size_t json_at) noexcept {
    const std::string_view event = std::string_view(out).substr(json_at);
    const delta_shape* shape = nullptr;
    for (const delta_shape& one : delta_shapes) {
        if (event.starts_with(one.begin)) {
            shape = &one;
            break;
        }
    }
    if (shape == nullptr) {
        return false;
    }
    const std::size_t id_begin = shape->begin.size();
    const std::size_t id_end = std::min(event.find('"', id_begin), event.size());
    const std::string_view id = event.substr(id_begin, id_end - id_begin);
    const std::string_view rest = event.substr(id_end);
    if (id.empty() || id.find('\\') != std::string_view::npos || !rest.starts_with(after_id) ||
        !rest.substr(after_id.size()).starts_with(delta_member)) {
        return false;
    }
    const auto escaped = plain_delta_text(rest.substr(after_id.size() + delta_member.size()));
    if (!escaped || escaped->empty()) {
        return false;
    }
    const std::size_t first_escape = escaped->find('\\');
    if (!can_unescape(*escaped, first_escape)) {
        return false;
    }
    char* const begin = out.data() + json_at;
    char* const text_begin = begin + (escaped->data() - event.data());
    std::size_t bytes = escaped->size();
    if (first_escape != std::string_view::npos) {
        bytes = unescape(text_begin, bytes, first_escape);
    }
    const std::string_view text(text_begin, bytes);
    const unsigned type_tag = tables::base_members[0].number << 3U;
    const std::size_t base = varint_bytes(type_tag) + varint_bytes(shape->enumerator);
    // The fields before the id take less than the JSON before it, and so do those before the text.
    forward_writer writer(begin);
    writer.length(
        shape->arm, field_bytes(tables::base_number, base) +
                        field_bytes(shape->id_number, id.size()) +
                        field_bytes(shape->delta_number, text.size())
    );
    writer.length(tables::base_number, base);
    writer.varint(type_tag);
    writer.varint(shape->enumerator);
    writer.text(shape->id_number, id);
    writer.text(shape->delta_number, text);
    out.resize(static_cast<std::size_t>(writer.end() - out.data()));
    return true;
}

} // namespace agui::translator
