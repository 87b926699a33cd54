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
/// (bytes of any form) with or without a slice. What append() has taken survives a killed process,
/// at once and without a system call. A power cut may lose parts of what was appended in about the
/// last half minute; checksums show which.
///
/// The file is a ring of segments (session/sqlite/README.md, "Ring bytes"). A segment is prepared
/// before anything goes into it: filled with zeros, its pages made writable. So append() never
/// fails on a full disk, and hardly ever waits for a slow one.
///
/// Two threads may use it at the same time: one calls append(), and the owner everything else.
class log_ring {
public:
    static constexpr std::size_t segment_bytes = 64U << 10U;
    static constexpr std::size_t segment_count = 16;

    /// Where a record begins or ends. Places grow and are never reused; none is 0.
    using place = std::uint64_t;

    /// Log entries of a run, or a commit, or a commit with the entries that belong to it.
    struct record {
        encoded_slice slice;     ///< Its count is 0 if there are no entries.
        std::string_view commit; ///< Its bytes; empty: none.
    };

    /// What an earlier process left in its file.
    struct contents {
        std::string bytes;
        /// Of all records, in the order of append(). They are views of `bytes`.
        std::vector<page_slice> slices;
        struct commit {
            std::string_view bytes;
            place behind; ///< Where its record ends.
        };
        std::vector<commit> commits; ///< Of all intact records, in the order of append().
        bool unreadable = false;     ///< Something among the records cannot be identified.
    };
    /// Reads a file. Nullopt: there is none, or it was not made with this identity. Throws
    /// std::system_error.
    [[nodiscard]] static std::optional<contents>
    recover(const std::string& path, std::uint64_t identity);

    /// Makes a new file, readable by its owner only, in place of any other. `identity` tells which
    /// store it belongs to. Nothing can be appended before prepare(). Throws std::system_error.
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

    /// Returns the record at `from` and moves `from` past it; nullopt at `until`, which is a value
    /// of end(). Its bytes are valid until they are released.
    [[nodiscard]] std::optional<record> next(place& from, place until) const;

    /// Lets the segments before `until`, a value of end(), be used again.
    void release(place until) noexcept;

    /// True if half of the segments are in use.
    [[nodiscard]] bool is_half_full() const noexcept;
    /// True if there is a segment to prepare.
    [[nodiscard]] bool can_prepare() const noexcept;
    /// Prepares the next segment; can_prepare() must be true. Throws std::system_error.
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
