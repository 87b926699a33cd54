#pragma once

#include "session/base/mutex.hpp"
#include "session/sqlite/journal.hpp"
#include "session/sqlite/log_chunk.hpp"
#include "session/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace agui::session {

/// What active runs have said and no row of run_logs holds yet: in the journal, so that it survives
/// the process, and in memory, so that nobody has to read the journal.
///
/// append() may be called from any thread, everything else on the store's thread.
class live_logs {
public:
    /// `to` must outlive this.
    explicit live_logs(journal& to) : journal_(to) {}

    enum class outcome {
        refused, ///< The entries are lost (see log_observer::on_failed).
        written,
        written_and_due ///< As written, and rows should be written for the run (take_due()).
    };
    /// Appends entries of an open run, which must continue its log.
    [[nodiscard]] outcome append(const log_slice& slice);

    /// From here on the run's entries after `end` may come. Does nothing if the run is open.
    void open(std::int64_t run_number, std::uint64_t end);
    /// The run has ended, and its log is in rows; or it was removed.
    void close(std::int64_t run_number);

    /// Where an open run's log ends.
    [[nodiscard]] std::optional<std::uint64_t> end_of(std::int64_t run_number);
    /// Appends to `entries` those that an open run has after `after`, until it holds
    /// `limit`. False: they are damaged.
    [[nodiscard]] bool read(
        std::int64_t run_number, std::uint64_t after, std::size_t limit,
        std::vector<log_entry>& entries
    );

    /// What an open run has that no row holds. Valid, and unchanged, until the next call for that
    /// run; entries that come in the meantime are not in it. Null: the run is not open.
    [[nodiscard]] chunk_list* gather(std::int64_t run_number);
    /// Rows hold what gather() gave, and entries up to `end` in all.
    void put_in_rows(std::int64_t run_number, std::uint64_t end);

    /// The runs for which rows should be written; they are not given again until they have grown
    /// by as much once more.
    [[nodiscard]] std::vector<std::int64_t> take_due();
    /// All open runs that have something that no row holds.
    [[nodiscard]] std::vector<std::int64_t> with_entries();
    /// Those of them with something in files of the journal before this one.
    [[nodiscard]] std::vector<std::int64_t> with_entries_before(std::uint64_t file);
    /// The first file of the journal that is needed; nullopt: none is.
    [[nodiscard]] std::optional<std::uint64_t> first_file() const;

private:
    struct live_run {
        std::uint64_t end = 0;           ///< The last sequence.
        chunk_list gathered;             ///< What gather() gave; appended to by no other thread.
        chunk_list latest;               ///< What came after that.
        std::size_t due_at = 0;          ///< Rows are due when `latest` has this many bytes.
        std::uint64_t gathered_file = 0; ///< The journal's first file with any of it; 0: none.
        std::uint64_t latest_file = 0;
    };

    void pin(std::uint64_t file) AGUI_REQUIRES(mutex_);
    void unpin(std::uint64_t& file) noexcept AGUI_REQUIRES(mutex_);

    journal& journal_;
    mutable mutex mutex_;
    std::unordered_map<std::int64_t, live_run> runs_ AGUI_GUARDED_BY(mutex_);
    std::vector<std::int64_t> due_ AGUI_GUARDED_BY(mutex_);
    /// By file: how many of the numbers above name it.
    std::map<std::uint64_t, std::size_t> pins_ AGUI_GUARDED_BY(mutex_);
    std::string encoded_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::session
