#pragma once

#include "session/base/clock.hpp"
#include "session/base/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agui::session {

/// Where a page of threads ended: the last thread's time of change and the store's number for it.
/// Pages are ordered by both, descending, so that threads changed in the same millisecond keep an
/// order.
struct list_cursor {
    unix_ms updated_at = 0;
    std::int64_t number = 0;

    friend auto operator<=>(const list_cursor&, const list_cursor&) = default;
};

[[nodiscard]] std::string to_string(const list_cursor& cursor);

/// Reads thread_query::cursor: nullopt for an empty one (the first page), errc::invalid_input for a
/// text that is not from to_string.
[[nodiscard]] result<std::optional<list_cursor>> list_cursor_from_string(std::string_view text);

} // namespace agui::session
