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
// buffer; all numbers are little-endian. A reader trusts nothing: damaged bytes are recognised by
// their checksum, and an impossible length is refused.

/// The last sequence of a slice; the one before its first if it has no entries.
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

/// Covers the bytes and where they belong, so that bytes of another run fail as well.
[[nodiscard]] std::uint64_t checksum_of(const encoded_slice& slice) noexcept;

/// Builds a page: the slices that one commit makes durable. Reused, so that the steady state does
/// not allocate.
class log_page_writer {
public:
    void add(const encoded_slice& slice);
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
