#pragma once

#include "session/store/entry_chain.hpp"
#include "session/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// The sequence of a slice's last entry, or the one before first_sequence if it has no entries.
[[nodiscard]] inline std::uint64_t last_sequence(const log_slice& slice) noexcept {
    return slice.first_sequence + slice.ends.size() - 1;
}

/// Consecutive entries of one run, as an entry_chain encodes them.
struct encoded_slice {
    std::int64_t run_number = 0;
    std::uint64_t first_sequence = 0;
    std::uint32_t count = 0;
    std::string_view bytes;
};

/// Covers the bytes, their run and their sequence: bytes in the wrong place do not match either.
[[nodiscard]] std::uint64_t checksum_of(const encoded_slice& slice) noexcept;

/// Appends the slice's entries with a sequence above `after`, until `entries` holds `limit`.
/// Returns false if the slice is damaged.
[[nodiscard]] bool decode_entries(
    const encoded_slice& slice, std::uint64_t after, std::size_t limit,
    std::vector<log_entry>& entries
);

/// Entries of one run as a row of run_logs holds them: the first is encoded whole, and there are
/// about chain_bytes_max bytes at most unless one entry is larger.
struct log_chunk {
    std::uint64_t first_sequence = 0;
    std::uint32_t count = 0;
    std::string bytes;

    [[nodiscard]] std::uint64_t last_sequence() const noexcept {
        return first_sequence + count - 1;
    }
    [[nodiscard]] encoded_slice as_slice(std::int64_t run_number) const noexcept {
        return {run_number, first_sequence, count, bytes};
    }
};

/// Consecutive entries of one run that grow: complete chunks and one that is open.
class chunk_list {
public:
    /// Appends the slice's entries; `encoded` is memory for their bytes. The slice is not empty and
    /// continues the list. Throws std::bad_alloc, and then appends nothing.
    void append(const log_slice& slice, std::string& encoded);
    /// The bytes that the last call of append() has added. Valid until the list changes.
    [[nodiscard]] std::string_view appended() const noexcept {
        const std::string_view bytes = chunks_.back().bytes;
        return bytes.substr(bytes.size() - last_bytes_);
    }
    /// Undoes the last call of append(); the next one begins with a whole entry.
    void undo_append() noexcept;
    /// Appends the chunks of `next`, which begins with a whole entry, and empties it.
    void append(chunk_list&& next);
    void clear() noexcept;

    [[nodiscard]] const std::vector<log_chunk>& chunks() const noexcept { return chunks_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] bool empty() const noexcept { return chunks_.empty(); }

private:
    entry_chain chain_;
    std::vector<log_chunk> chunks_;
    std::size_t bytes_ = 0;
    std::uint32_t last_count_ = 0; ///< Number of the entries that append() added last,
    std::size_t last_bytes_ = 0;   ///< and their bytes.
};

} // namespace agui::session
