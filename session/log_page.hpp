#pragma once

#include "session/store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// The byte formats of the durable log (session/README.md, "Log bytes"). Pure functions and a
// buffer; all numbers are little-endian. A reader trusts nothing: bytes that were damaged are
// recognised by their checksum, and a length that cannot be is refused.

/// The last sequence of a slice; the one before its first if it has no entries.
[[nodiscard]] std::uint64_t last_sequence(const log_slice& slice) noexcept;

/// Appends the entries of `next`, which must follow those of `slice`.
void append_entries(log_slice& slice, const log_slice& next);

/// The entries [first, last) of a slice, counted from 0.
[[nodiscard]] log_slice part_of(const log_slice& slice, std::size_t first, std::size_t last);

/// Appends the log_entry of each entry of `slice` with a sequence above `after`, until `entries`
/// has `limit` of them.
void copy_entries(
    const log_slice& slice, std::uint64_t after, std::size_t limit, std::vector<log_entry>& entries
);

/// The payload of a slice: what its entries hold, without run number and sequence.
void append_payload(std::string& bytes, const log_slice& slice);

/// Nullopt: not a payload of `count` entries.
[[nodiscard]] std::optional<log_slice> slice_from_payload(
    std::int64_t run_number, std::uint64_t first_sequence, std::uint32_t count,
    std::string_view payload
);

/// Over the payload and what it belongs to, so that bytes of another run do not pass either.
[[nodiscard]] std::uint64_t slice_checksum(
    std::int64_t run_number, std::uint64_t first_sequence, std::uint32_t count,
    std::string_view payload
) noexcept;

/// Builds a page: the slices that one commit makes durable. Reused, so that a steady state does not
/// allocate.
class log_page_writer {
public:
    void add(const log_slice& slice);
    [[nodiscard]] bool empty() const noexcept { return directory_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
    /// The page; valid until the next call of clear().
    [[nodiscard]] std::string_view finish();
    void clear() noexcept;

private:
    struct directory_entry {
        std::int64_t run_number;
        std::uint64_t first_sequence;
        std::uint32_t count;
        std::uint32_t payload_bytes;
        std::uint64_t checksum;
    };

    std::vector<directory_entry> directory_;
    std::string bytes_;
};

/// A slice of a page as read back; without entries if they were damaged.
struct page_slice {
    std::int64_t run_number = 0;
    std::optional<log_slice> slice;
};

/// Nullopt: the page does not say whose slices it holds.
[[nodiscard]] std::optional<std::vector<page_slice>> read_log_page(std::string_view page);

} // namespace agui::session
