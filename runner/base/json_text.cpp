#include "runner/base/json_text.hpp"

#include "runner/base/utf8_sequence.hpp"

#include <array>
#include <cstddef>

namespace agui::runner {

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

// Bytes that the compiler compares at once.
constexpr std::size_t block_bytes = 16;

bool is_plain_block(const char* bytes) noexcept {
    bool is_plain = true;
    for (std::size_t i = 0; i < block_bytes; ++i) {
        const auto byte = static_cast<signed char>(bytes[i]); // Negative in a multibyte character.
        is_plain = is_plain & (byte >= 0x20) & (byte != '"') & (byte != '\\');
    }
    return is_plain;
}
} // namespace

void append_json_string(std::string& out, std::string_view text) {
    out.push_back('"');
    std::size_t run = 0; // Start of the uncopied run.
    std::size_t at = 0;
    while (at < text.size()) {
        if (text.size() - at >= block_bytes && is_plain_block(text.data() + at)) {
            at += block_bytes;
            continue;
        }
        const byte_class what = classes[static_cast<unsigned char>(text[at])];
        if (what == byte_class::plain) {
            ++at;
            continue;
        }
        if (what == byte_class::escaped) {
            out.append(text.data() + run, at - run);
            append_json_escape(out, text[at]);
            run = ++at;
            continue;
        }
        const utf8_sequence found = first_character(text.substr(at));
        if (found.what != utf8_sequence::kind::whole) {
            out.append(text.data() + run, at - run);
            out.append(utf8_replacement);
            run = at + found.length;
        }
        at += found.length;
    }
    out.append(text.data() + run, at - run);
    out.push_back('"');
}

void append_text_member(std::string& out, std::string_view name, std::string_view value) {
    out.append(",\"").append(name).append("\":");
    append_json_string(out, value);
}

void append_json_escape(std::string& out, char character) {
    static constexpr std::string_view hex_digits = "0123456789abcdef";
    switch (character) {
    case '"':
        out.append("\\\"");
        return;
    case '\\':
        out.append("\\\\");
        return;
    case '\b':
        out.append("\\b");
        return;
    case '\f':
        out.append("\\f");
        return;
    case '\n':
        out.append("\\n");
        return;
    case '\r':
        out.append("\\r");
        return;
    case '\t':
        out.append("\\t");
        return;
    default:
        const auto code = static_cast<unsigned char>(character);
        out.append("\\u00");
        out.push_back(hex_digits[code >> 4U]);
        out.push_back(hex_digits[code & 0xFU]);
    }
}

} // namespace agui::runner
