#include "runner/base/json_brackets.hpp"

#include "runner/base/json_blanks.hpp"

namespace agui::runner {

std::size_t json_brackets::feed(std::string_view text) noexcept {
    constexpr std::uint64_t prime = 0x100000001b3U;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (in_string_) {
            in_string_ = escaped_ || c != '"';
            escaped_ = !escaped_ && c == '\\';
        } else if (json_blanks.find(c) != std::string_view::npos) {
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

void object_text::feed(std::string_view text) noexcept {
    if (!has_begun_) {
        text = without_blank_begin(text);
        has_begun_ = !text.empty();
        is_other_ = has_begun_ && text.front() != '{';
    }
    if (is_other_) {
        return;
    }
    if (!brackets_.closed()) {
        text.remove_prefix(brackets_.feed(text));
    }
    is_other_ = !is_json_blank(text);
}

} // namespace agui::runner
