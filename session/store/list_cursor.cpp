#include "session/store/list_cursor.hpp"

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
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    list_cursor cursor;
    auto read = std::from_chars(begin, end, cursor.updated_at);
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
        read = std::from_chars(read.ptr + 1, end, cursor.number);
        if (read.ec == std::errc() && read.ptr == end) {
            return std::optional(cursor);
        }
    }
    return failure{errc::invalid_input, "cursor: is not a cursor that a page returned", "cursor"};
}

} // namespace agui::session
