#include "runner/base/json_text.hpp"

#include <cstddef>

namespace agui::runner {

void append_json_string(std::string& out, std::string_view text) {
    out.push_back('"');
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte >= 0x20 && byte != '"' && byte != '\\') {
            continue;
        }
        out.append(text.substr(plain, i - plain));
        plain = i + 1;
        append_json_escape(out, text[i]);
    }
    out.append(text.substr(plain));
    out.push_back('"');
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
