#include "runner/base/json_text.hpp"

#include "runner/base/utf8_sequence.hpp"

#include <cstddef>

namespace agui::runner {

namespace {

bool is_ascii(char byte) noexcept { return static_cast<unsigned char>(byte) < 0x80; }

// Compares so many bytes at once.
template <std::size_t bytes>
bool is_plain_block(const char* text) noexcept {
    bool is_plain = true;
    for (std::size_t i = 0; i < bytes; ++i) {
        const auto byte = static_cast<signed char>(text[i]); // Negative in a multibyte character.
        is_plain = is_plain & (byte >= 0x20) & (byte != '"') & (byte != '\\');
    }
    return is_plain;
}

// Moves `at` past the blocks that are plain.
template <std::size_t bytes>
void skip_plain_blocks(std::string_view text, std::size_t& at) noexcept {
    while (text.size() - at >= bytes && is_plain_block<bytes>(text.data() + at)) {
        at += bytes;
    }
}

} // namespace

std::size_t plain_bytes(std::string_view text) noexcept {
    std::size_t at = 0;
    skip_plain_blocks<16>(text, at);
    skip_plain_blocks<8>(text, at);
    skip_plain_blocks<1>(text, at);
    return at;
}

void append_json_string(std::string& out, std::string_view text) {
    out.push_back('"');
    std::size_t run = 0; // Start of the uncopied run.
    std::size_t at = plain_bytes(text);
    while (at < text.size()) {
        if (is_ascii(text[at])) {
            out.append(text.data() + run, at - run);
            append_json_escape(out, text[at]);
            run = ++at;
        }
        while (at < text.size() && !is_ascii(text[at])) {
            const utf8_sequence found = first_character(text.substr(at));
            if (found.what != utf8_sequence::kind::whole) {
                out.append(text.data() + run, at - run);
                out.append(utf8_replacement);
                run = at + found.length;
            }
            at += found.length;
        }
        at += plain_bytes(text.substr(at));
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
