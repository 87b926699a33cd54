#include "session/store/list_cursor.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace agui::session {

std::string to_string(const list_cursor& cursor) {
    return std::to_string(cursor.updated_at) + "-" + std::to_string(cursor.number);
}

result<list_cursor> list_cursor_from_string(std::string_view text) {
    if (text.empty()) {
        constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
        return list_cursor{largest, largest};
    }
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    list_cursor cursor;
    auto read = std::from_chars(begin, end, cursor.updated_at);
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
        read = std::from_chars(read.ptr + 1, end, cursor.number);
        if (read.ec == std::errc() && read.ptr == end) {
            return cursor;
        }
    }
    return failure{errc::invalid_input, "is not a cursor that a page returned", "cursor"};
}

std::size_t threads_wanted(const thread_query& query) {
    return std::min(query.limit, std::size_t{1'000'000}) + 1;
}

thread_page page_of(std::vector<listed_thread> found, const thread_query& query) {
    thread_page page;
    if (found.size() > query.limit) {
        found.resize(query.limit);
        page.next_cursor = found.empty() ? query.cursor : to_string(found.back().place);
    }
    page.threads.reserve(found.size());
    for (listed_thread& each : found) {
        page.threads.push_back(std::move(each.summary));
    }
    return page;
}

} // namespace agui::session
