#pragma once

#include "session/base/clock.hpp"
#include "session/base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

/// Reads thread_query::cursor: nullopt if it is empty (the first page), errc::invalid_input if it
/// is not from to_string.
[[nodiscard]] result<std::optional<list_cursor>> list_cursor_from_string(std::string_view text);

} // namespace agui::session
