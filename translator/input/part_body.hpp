#pragma once

#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/attachment.hpp"
#include "translator/agui/snapshot_limit.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::translator {

/// A media part that a client gives to a thread before a message uses it.
struct part_body {
    session::attachment file; ///< Its `kept_at` is 0.
    std::string named;        ///< The part as JSON without its bytes (session::named).
};

/// Reads a request body that is a media part with bytes and a media type. `link` makes the URL that
/// replaces the bytes; it is called once. `budget` (may be null) counts the memory for reading, but
/// not the result. Failures: invalid_json and overloaded (read_document), invalid_input. Throws
/// memory_refused if the budget has no room for a copy.
[[nodiscard]] result<part_body> read_part_body(
    std::string_view body, std::size_t max_json_depth, const part_link& link,
    memory_budget* budget = nullptr
);

} // namespace agui::translator
