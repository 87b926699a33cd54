#pragma once

#include "session/sqlite/log_page.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// Records in a file of fixed size that is mapped into memory: slices of log entries, and commits
/// of any form, with or without a slice. What append() has taken survives the process, at once and
/// without a system call. A power cut may lose parts of what was appended in about the last half
/// minute; checksums show which.
///
/// The file is a ring of segments (session/sqlite/README.md, "Ring bytes"). A segment is prepared
/// before anything goes into it: filled with zeros, its pages made writable. So append() never
/// fails on a full disk, and hardly ever waits for a slow one.
///
/// Two threads may use it at a time: one that appends, and the owner, which calls everything else.
class log_ring {
public:
    static constexpr std::size_t segment_bytes = 64U << 10U;
    static constexpr std::size_t segment_count = 16;

    /// Where a record begins or ends. Places grow from 1; they are not reused.
    using place = std::uint64_t;

    /// A commit with the log entries of its run that belong to it, or only one of the two.
    struct record {
        encoded_slice slice;     ///< With a count of 0 it has no entries.
        std::string_view commit; ///< Its bytes; empty: none.
    };

    /// What an earlier process left in its file.
    struct contents {
        std::string bytes;
        /// Of all records in the order of append(), views of `bytes`.
        std::vector<page_slice> slices;
        struct commit {
            std::string_view bytes;
            place behind; ///< The record ends here.
        };
        std::vector<commit> commits; ///< Of all intact records, in the order of append().
        bool unreadable = false;     ///< There is something between them that cannot be identified.
    };
    /// Nullopt: there is no file, or it was not made with this identity. Throws std::system_error.
    [[nodiscard]] static std::optional<contents>
    recover(const std::string& path, std::uint64_t identity);

    /// Makes a new file, readable by its owner only, replacing any other. `identity` is that of its
    /// store. Nothing can be appended before prepare(). Throws std::system_error.
    log_ring(const std::string& path, std::uint64_t identity);
    ~log_ring();
    log_ring(const log_ring&) = delete;
    log_ring& operator=(const log_ring&) = delete;

    // Appending.

    /// False: the record is larger than a segment, or no segment is prepared.
    [[nodiscard]] bool append(const record& given) noexcept;

    // The owner.

    /// The place after the last appended record.
    [[nodiscard]] place end() const noexcept { return end_.load(std::memory_order_acquire); }

    /// The record at `from`, and moves `from` past it; nullopt at `until`, a value of end(). The
    /// bytes are valid until they are released.
    [[nodiscard]] std::optional<record> next(place& from, place until) const;

    /// Nothing before `until`, a value of end(), is needed any more.
    void release(place until) noexcept;

    /// True if half of the segments are in use.
    [[nodiscard]] bool is_half_full() const noexcept;
    /// True if there is a segment to prepare.
    [[nodiscard]] bool can_prepare() const noexcept;
    /// Prepares the next segment. Throws std::system_error.
    void prepare();

private:
    [[nodiscard]] char* segment_at(std::uint64_t serial) const noexcept;

    const std::string path_;
    const std::uint64_t identity_;
    int file_ = -1;
    char* bytes_ = nullptr;
    std::uint64_t first_serial_ = 0; ///< Of the segments that are not released.
    std::atomic<place> end_{0};
    std::atomic<std::uint64_t> ready_serial_{0}; ///< Segments below this are prepared.
};

} // namespace agui::session
