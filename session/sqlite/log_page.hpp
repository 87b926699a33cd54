#pragma once

#include "session/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// The byte formats of the durable log (session/sqlite/README.md, "Log bytes"). Pure functions and a
// buffer; all numbers are little-endian. The reader trusts nothing: it recognises damaged bytes by
// their checksum and refuses an impossible length.

/// The sequence of a slice's last entry; without entries, the one before first_sequence.
[[nodiscard]] std::uint64_t last_sequence(const log_slice& slice) noexcept;

/// Appends the entries of `next`, which must follow those of `slice`.
void append_entries(log_slice& slice, const log_slice& next);

/// Consecutive entries of one run, as an entry_chain encodes them.
struct encoded_slice {
    std::int64_t run_number = 0;
    std::uint64_t first_sequence = 0;
    std::uint32_t count = 0;
    std::string_view bytes;
};

/// Covers the bytes, their run and their sequence: bytes in the wrong place do not match either.
[[nodiscard]] std::uint64_t checksum_of(const encoded_slice& slice) noexcept;

/// Builds pages, one at a time. A page holds the slices that one commit makes durable. The buffer
/// is kept, so that usually nothing is allocated.
class log_page_writer {
public:
    void add(const encoded_slice& slice);
    [[nodiscard]] bool empty() const noexcept { return directory_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
    /// The page, valid until clear(), which must come before the next add().
    [[nodiscard]] std::string_view finish();
    void clear() noexcept;

private:
    struct directory_entry {
        std::int64_t run_number;
        std::uint64_t first_sequence;
        std::uint32_t count;
        std::uint32_t bytes;
        std::uint64_t checksum;
    };

    std::vector<directory_entry> directory_;
    std::string bytes_;
};

/// A slice of a page as read back.
struct page_slice {
    encoded_slice slice; ///< Its bytes point into the page.
    bool damaged = false;
};

/// Nullopt: the slices in the page cannot be identified.
[[nodiscard]] std::optional<std::vector<page_slice>> read_log_page(std::string_view page);

} // namespace agui::session
