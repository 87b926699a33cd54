#include "session/list_cursor.hpp"

#include <charconv>
#include <system_error>

namespace agui::session {

std::string to_string(const list_cursor& cursor) {
    return std::to_string(cursor.updated_at) + "-" + std::to_string(cursor.number);
}

result<std::optional<list_cursor>> list_cursor_from_string(std::string_view text) {
    if (text.empty()) {
        return std::nullopt;
    }
    const failure bad{
        errc::invalid_input, "cursor: is not one that a page ended with", "cursor", {}
    };
    const char* const end = text.data() + text.size();
    list_cursor cursor;
    const auto first = std::from_chars(text.data(), end, cursor.updated_at);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') {
        return bad;
    }
    const auto second = std::from_chars(first.ptr + 1, end, cursor.number);
    if (second.ec != std::errc() || second.ptr != end) {
        return bad;
    }
    return std::optional(cursor);
}

} // namespace agui::session
