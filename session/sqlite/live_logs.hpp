#pragma once

#include "session/base/mutex.hpp"
#include "session/sqlite/journal.hpp"
#include "session/sqlite/log_chunk.hpp"
#include "session/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace agui::session {

/// The log entries of active runs that no row of run_logs holds yet. They are in the journal, to
/// survive the process, and in memory, so that no reader needs the journal.
///
/// append() may be called from any thread, everything else on the store's thread.
class live_logs {
public:
    /// `to` must outlive this.
    explicit live_logs(journal& to) : journal_(to) {}

    enum class outcome {
        refused, ///< The entries are lost (see log_observer::on_failed).
        written,
        written_and_due ///< Written, and rows should be written for the run (take_due()).
    };
    /// Entries of an open run, which must continue its log, and their outcome.
    struct appending {
        const log_slice* slice = nullptr;
        outcome result = outcome::refused;
    };
    /// Appends entries of different runs with one write to the journal. If it fails, all are
    /// refused. Entries that do not continue their log are refused alone.
    void append(std::span<appending> all) noexcept;
    [[nodiscard]] outcome append(const log_slice& slice) noexcept {
        appending one{&slice};
        append(std::span(&one, 1));
        return one.result;
    }

    /// Opens the run for entries after `end`. Does nothing if it is open.
    void open(std::int64_t run_number, std::uint64_t end);
    /// Closes a run that was removed, or that has ended with its log in rows.
    void close(std::int64_t run_number);

    /// The last sequence of an open run's log; nullopt if the run is not open.
    [[nodiscard]] std::optional<std::uint64_t> end_of(std::int64_t run_number);
    /// Appends the entries of an open run after `after` to `entries`, until that holds `limit`.
    /// Returns false if they are damaged.
    [[nodiscard]] bool read(
        std::int64_t run_number, std::uint64_t after, std::size_t limit,
        std::vector<log_entry>& entries
    );

    /// The entries of an open run that no row holds; null if the run is not open. Valid, and
    /// unchanged, until the next call for that run; entries that are appended in the meantime are
    /// not in it.
    [[nodiscard]] chunk_list* gather(std::int64_t run_number);
    /// Notes that rows hold the result of gather(), and all entries up to `end`.
    void put_in_rows(std::int64_t run_number, std::uint64_t end);

    /// The runs for which rows should be written; a run is not returned again until it has grown by
    /// as much once more.
    [[nodiscard]] std::vector<std::int64_t> take_due();
    /// All open runs with entries that no row holds.
    [[nodiscard]] std::vector<std::int64_t> with_entries();
    /// The runs among them with entries in files of the journal before `file`.
    [[nodiscard]] std::vector<std::int64_t> with_entries_before(std::uint64_t file);
    /// The first file of the journal that is needed; nullopt if none is.
    [[nodiscard]] std::optional<std::uint64_t> first_file() const;

private:
    struct live_run {
        std::uint64_t end = 0;  ///< The last sequence.
        chunk_list gathered;    ///< The result of gather(); no other thread appends to it.
        chunk_list latest;      ///< Later entries.
        std::size_t due_at = 0; ///< Rows are due when `latest` has this many bytes.
        /// First file of the journal with any of `gathered`; 0 if none.
        std::uint64_t gathered_file = 0;
        std::uint64_t latest_file = 0;
    };

    [[nodiscard]] live_run* run_of(const log_slice& slice) noexcept AGUI_REQUIRES(mutex_);
    [[nodiscard]] bool keep(const log_slice& slice) noexcept AGUI_REQUIRES(mutex_);
    [[nodiscard]] outcome settle(const log_slice& slice, std::uint64_t file) noexcept
        AGUI_REQUIRES(mutex_);
    void pin(std::uint64_t file) AGUI_REQUIRES(mutex_);
    void unpin(std::uint64_t& file) noexcept AGUI_REQUIRES(mutex_);

    journal& journal_;
    mutable mutex mutex_;
    std::unordered_map<std::int64_t, live_run> runs_ AGUI_GUARDED_BY(mutex_);
    std::vector<std::int64_t> due_ AGUI_GUARDED_BY(mutex_);
    /// Counts, for each file, the numbers above that name it.
    std::map<std::uint64_t, std::size_t> pins_ AGUI_GUARDED_BY(mutex_);
    std::string encoded_ AGUI_GUARDED_BY(mutex_);
    std::vector<encoded_slice> written_ AGUI_GUARDED_BY(mutex_); ///< Memory for append().
};

} // namespace agui::session
