#include "runner/base/json_text.hpp"

#include <cstddef>

namespace agui::runner {

void append_json_string(std::string& out, std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    out.push_back('"');
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte >= 0x20 && byte != '"' && byte != '\\') {
            continue;
        }
        out.append(text.substr(plain, i - plain));
        plain = i + 1;
        out.push_back('\\');
        switch (text[i]) {
        case '"':
        case '\\':
            out.push_back(text[i]);
            break;
        case '\n':
            out.push_back('n');
            break;
        case '\r':
            out.push_back('r');
            break;
        case '\t':
            out.push_back('t');
            break;
        default:
            out.append("u00");
            out.push_back(hex[byte >> 4U]);
            out.push_back(hex[byte & 15U]);
            break;
        }
    }
    out.append(text.substr(plain));
    out.push_back('"');
}

} // namespace agui::runner
