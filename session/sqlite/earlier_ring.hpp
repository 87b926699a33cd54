#pragma once

#include "session/sqlite/journal_format.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace agui::session {

// What versions 5 to 10 of the schema kept besides their tables: a ring of records in a file of 1
// MB, and pages of log entries in a table. Pure functions, which trust nothing.

struct earlier_ring {
    /// In the order in which they were written. They are views of the file.
    std::vector<journal_item> entries;
    struct commit {
        std::string_view bytes;  ///< For read_earlier_commit().
        std::uint64_t place = 0; ///< Where its record ends.
    };
    std::vector<commit> commits; ///< Of all intact records, in order.
    bool unreadable = false;     ///< Something among the records cannot be identified.
};

/// Nullopt: the bytes are not a ring with that identity.
[[nodiscard]] std::optional<earlier_ring>
read_earlier_ring(std::string_view bytes, std::uint64_t identity);

/// Nullopt: the entries in the page cannot be identified.
[[nodiscard]] std::optional<std::vector<journal_item>> read_earlier_page(std::string_view page);

} // namespace agui::session
