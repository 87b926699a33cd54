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

/// The place of a record.
struct journal_place {
    /// Identity of the journal, which belongs to one process of one store.
    std::uint64_t identity = 0;
    std::uint64_t file = 0;   ///< The file's number.
    std::uint64_t offset = 0; ///< Offset in the file.
};

/// The data in a record about the previous one in its file, so that the previous one can be named
/// if it is damaged.
struct journal_neighbour {
    std::int64_t run_number = 0;
    std::uint64_t bytes = 0; ///< Bytes with padding; 0 if there is no previous record.
};

/// The size of a file's head.
inline constexpr std::size_t journal_head_bytes = 32;
[[nodiscard]] std::string journal_head(std::uint64_t identity, std::uint64_t file);
/// True if `bytes` begin with the head of that file.
[[nodiscard]] bool
is_journal(std::string_view bytes, std::uint64_t identity, std::uint64_t file) noexcept;

/// Appends a record with the entries to `records`, with padding. Returns its size.
std::size_t append_journal_record(
    std::string& records, const journal_place& at, const journal_neighbour& before,
    const encoded_slice& entries
);

/// An item at one place of a file.
struct journal_item {
    /// Its bytes point into the file's. If it is not sound, only the run number is certain; if that
    /// is 0, any run may have lost entries here.
    encoded_slice entries;
    bool is_sound = true;
};
/// The records of a file, in order. A record that a process was writing when it ended is no item,
/// because no reader has relied on it.
[[nodiscard]] std::vector<journal_item>
read_journal(std::string_view bytes, std::uint64_t identity, std::uint64_t file);

} // namespace agui::session
