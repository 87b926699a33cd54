#pragma once

#include "session/sqlite/log_chunk.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// The bytes of a journal file (session/sqlite/FORMAT.md). Pure functions. The reader trusts
// nothing: a checksum covers a record together with its store, its file and its place.

/// Where a record is.
struct journal_place {
    std::uint64_t identity = 0; ///< Of the journal, which belongs to one process of one store.
    std::uint64_t file = 0;     ///< The file's number.
    std::uint64_t offset = 0;   ///< In the file.
};

/// What a record says of the one before it in its file, so that this one can be named if it is
/// damaged.
struct journal_neighbour {
    std::int64_t run_number = 0;
    std::uint64_t bytes = 0; ///< With its padding; 0: there is none.
};

/// What a file begins with.
inline constexpr std::size_t journal_head_bytes = 32;
[[nodiscard]] std::string journal_head(std::uint64_t identity, std::uint64_t file);
/// Whether `bytes` begin as that file does.
[[nodiscard]] bool
is_journal(std::string_view bytes, std::uint64_t identity, std::uint64_t file) noexcept;

/// Replaces `record` by the bytes of the entries, with padding.
void write_journal_record(
    std::string& record, const journal_place& at, const journal_neighbour& before,
    const encoded_slice& entries
);

/// What is found at one place of a file.
struct journal_item {
    /// Its bytes point into the file's. If it is not sound, only the run is certain; 0: not even
    /// that, so that any run may have lost entries here.
    encoded_slice entries;
    bool is_sound = true;
};
/// The records of a file, in order. What a process was writing when it ended, which nobody has
/// relied on, is no item.
[[nodiscard]] std::vector<journal_item>
read_journal(std::string_view bytes, std::uint64_t identity, std::uint64_t file);

} // namespace agui::session
