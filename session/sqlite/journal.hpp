#pragma once

#include "session/base/mutex.hpp"
#include "session/sqlite/journal_format.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {

/// The append-only files with the log entries of active runs that no table holds yet
/// (session/sqlite/FORMAT.md). A record that was written survives a killed process at once, and a
/// power cut after sync().
///
/// append() and needs_file() may be called from any thread, the other functions only by the owner,
/// one call at a time.
class journal {
public:
    struct settings {
        std::string path; ///< Files are `path` + "." + number, readable by their owner only.
        std::uint64_t identity = 0;
        /// A file is full when it has this many bytes; its last record may exceed that.
        std::size_t file_bytes = std::size_t{64} << 20U;
        /// True if new files must survive a power cut.
        bool survives_power_cut = false;
    };

    /// Starts without a file; nothing can be appended before add_file().
    explicit journal(settings options) : settings_(std::move(options)) {}
    ~journal();
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return settings_.path; }
    [[nodiscard]] std::uint64_t identity() const noexcept { return settings_.identity; }

    /// Writes a record for each slice, all with one write to one file. Returns the file's number,
    /// or 0 if they could not be written; then nothing of them is in a file. `slices` is not empty.
    [[nodiscard]] std::uint64_t append(std::span<const encoded_slice> slices) noexcept;
    [[nodiscard]] std::uint64_t append(const encoded_slice& entries) noexcept {
        return append(std::span(&entries, 1));
    }
    /// True if the last append() or try_write() could write or, if it lacked a file, if one could
    /// be made. Any thread.
    [[nodiscard]] bool can_write() const noexcept { return can_write_; }
    /// Tests whether a record can be written.
    void try_write() noexcept;

    /// True if the last file is more than half full, or cannot be written.
    [[nodiscard]] bool needs_file() const noexcept { return needs_file_; }
    /// True once each time that append() has made needs_file() true.
    [[nodiscard]] bool take_new_need() noexcept {
        return has_new_need_.load(std::memory_order_relaxed) && has_new_need_.exchange(false);
    }
    /// Makes the file with that number and keeps it until the one before is full. Numbers must
    /// grow; nothing may rely on the file before this returns. Throws std::system_error.
    void make_file(std::uint64_t number);
    /// Lets append() continue in the new file.
    void use_file();

    /// Nothing more is appended to any file but the last one that may be used.
    void leave_file() noexcept;

    /// Makes all records that are written and not removed survive a power cut. Throws
    /// std::system_error; then the durability of the file's records is unknown, and every sync()
    /// throws until the file is removed.
    void sync();

    /// The number of the file that is being written; 0 if there is none.
    [[nodiscard]] std::uint64_t current() noexcept;
    /// Removes the files with smaller numbers, except the one that is being written.
    void remove_before(std::uint64_t number) noexcept;
    /// Removes all files; nothing more may be appended.
    void remove_all() noexcept;

    /// The numbers of the files of a journal with that path, in order, whatever they contain.
    /// Throws std::system_error.
    [[nodiscard]] static std::vector<std::uint64_t> files_of(const std::string& path);
    [[nodiscard]] static std::string name_of(const std::string& path, std::uint64_t number);

private:
    struct file {
        std::uint64_t number = 0;
        int descriptor = -1;
        std::size_t end = 0;       ///< Offset of the next record.
        std::size_t allocated = 0; ///< The disk has room for this many bytes.
        journal_neighbour last;
        bool is_dirty = false;
        bool is_broken = false;   ///< Something in it is uncertain: nothing more is appended.
        bool is_unsynced = false; ///< A sync of it has failed.
    };

    void make_and_keep(std::uint64_t number);
    [[nodiscard]] std::uint64_t write_records(std::span<const encoded_slice> slices)
        AGUI_REQUIRES(mutex_);
    [[nodiscard]] file* file_for(std::size_t bytes) noexcept AGUI_REQUIRES(mutex_);
    [[nodiscard]] bool write(file& to, std::string_view bytes) const noexcept AGUI_REQUIRES(mutex_);
    void look_for_need() noexcept AGUI_REQUIRES(mutex_);
    void remove(const file& gone) const noexcept;

    const settings settings_;
    std::atomic<bool> can_write_{false};
    std::atomic<bool> needs_file_{true};
    std::atomic<bool> has_new_need_{false};

    mutex mutex_;
    std::deque<file> files_ AGUI_GUARDED_BY(mutex_); ///< All that exist, oldest first.
    /// The number of them that append() may write.
    std::size_t usable_ AGUI_GUARDED_BY(mutex_) = 0;
    /// The index of the one that is being written, if it is usable.
    std::size_t current_ AGUI_GUARDED_BY(mutex_) = 0;
    bool lacks_file_ AGUI_GUARDED_BY(mutex_) = false; ///< The last make_file() failed.
    std::string records_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::session
