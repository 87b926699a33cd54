#pragma once

#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// The end of a page of threads: the time at which its last thread was changed, and the store's
/// number for that thread. Pages are ordered by both, descending, so that the order of threads that
/// were changed in the same millisecond is fixed.
struct list_cursor {
    unix_ms updated_at = 0;
    std::int64_t number = 0;

    friend auto operator<=>(const list_cursor&, const list_cursor&) = default;
};

[[nodiscard]] std::string to_string(const list_cursor& cursor);

/// Reads thread_query::cursor. If it is empty (the first page), the result is larger than any
/// other; errc::invalid_input if it is not from to_string.
[[nodiscard]] result<list_cursor> list_cursor_from_string(std::string_view text);

struct listed_thread {
    list_cursor place;
    thread_summary summary;
};

/// The number of threads to find for a page: one more than requested shows whether there is a next
/// page.
[[nodiscard]] std::size_t threads_wanted(const thread_query& query);
/// Makes the page of these threads, which are in order.
[[nodiscard]] thread_page page_of(std::vector<listed_thread> found, const thread_query& query);

} // namespace agui::session
