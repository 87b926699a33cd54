#include "runner/base/json_brackets.hpp"

namespace agui::runner {

namespace {

constexpr std::string_view blanks = " \t\r\n";

bool is_blank(char c) noexcept { return blanks.find(c) != std::string_view::npos; }

} // namespace

std::size_t json_brackets::feed(std::string_view text) noexcept {
    constexpr std::uint64_t prime = 0x100000001b3U;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (in_string_) {
            in_string_ = escaped_ || c != '"';
            escaped_ = !escaped_ && c == '\\';
        } else if (is_blank(c)) {
            continue;
        } else if (c == '{' || c == '[') {
            hollow_ = hollow_ && depth_ == 0;
            begun_ = true;
            ++depth_;
        } else if (c == '}' || c == ']') {
            --depth_;
        } else {
            hollow_ = false;
            in_string_ = c == '"';
        }
        hash_ = (hash_ ^ static_cast<unsigned char>(c)) * prime;
        if (closed()) {
            return at + 1;
        }
    }
    return text.size();
}

bool is_whole_object(std::string_view text) noexcept {
    const std::size_t begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos || text[begin] != '{') {
        return false;
    }
    text.remove_prefix(begin);
    json_brackets brackets;
    const std::size_t end = brackets.feed(text);
    return brackets.closed() && text.find_first_not_of(blanks, end) == std::string_view::npos;
}

} // namespace agui::runner
