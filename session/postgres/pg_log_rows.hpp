#pragma once

#include "session/postgres/pg_result.hpp"
#include "session/postgres/pg_transaction.hpp"
#include "session/store/store.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace agui::session {

/// Entries of one run as in a row of agui.log_rows. Joining the bytes of consecutive rows makes one
/// row: lengths are 4 bytes for each event, variants have the sequence in 8 bytes, the length in 4
/// and the text; all numbers little-endian.
struct pg_log_row {
    std::int64_t run = 0;
    std::uint64_t first_sequence = 0;
    std::uint64_t last_sequence = 0; ///< first_sequence - 1 if it is empty.
    std::string events;
    std::string lengths;
    std::string variants;

    [[nodiscard]] bool empty() const noexcept { return events.empty() && lengths.empty(); }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return events.size() + lengths.size() + variants.size();
    }
    /// Appends a slice that continues the row. If it throws std::bad_alloc, the row stays valid
    /// without the slice.
    void append(const log_slice& slice);
    void append(const pg_log_row& next);
    void append(const log_entry& next);
};
/// The entries of a row that this process has made.
[[nodiscard]] std::vector<log_entry> entries_of(const pg_log_row& row);

/// The size of the rows of one log. Few or large rows are not joined when the run has ended:
/// rewriting them saves nothing.
struct pg_log_size {
    static constexpr std::size_t few_rows = 4;
    static constexpr std::size_t large_row = 8U << 10U; // On average.

    std::size_t rows = 0;
    std::size_t bytes = 0;
    bool is_known = true;

    void add(const pg_log_row& row) noexcept {
        rows += row.empty() ? 0 : 1;
        bytes += row.bytes();
    }
    /// runs.log_bytes; nullopt if the rows are to be joined.
    [[nodiscard]] std::optional<std::int64_t> bytes_without_joining() const noexcept {
        const bool stays = rows <= few_rows || bytes >= rows * large_row;
        return is_known && stays ? std::optional(static_cast<std::int64_t>(bytes)) : std::nullopt;
    }
};

/// Use it in a transaction that is not repeated. Fails if a row exists: an abandoned transaction
/// committed late.
[[nodiscard]] pg_statement add_log_rows(const std::vector<const pg_log_row*>& rows);

/// The last arguments of agui.add_entries(): rows with their runs.
void add_rows(pg_params& to, const std::vector<const pg_log_row*>& rows);
/// The arguments of agui.end_run() that are its rows, without the run.
void add_row_columns(pg_params& to, const std::vector<const pg_log_row*>& rows);
/// The names as arguments of a statement.
[[nodiscard]] std::vector<pg_text> texts_of(const std::set<std::string>& names);

/// Notes in the records of active runs whose first entries are among `rows` that they have a log,
/// so that a log which loses all its rows is not taken for the log of a run without entries. It
/// must be in one transaction with their insertion. nullopt if no row is a first one.
[[nodiscard]] std::optional<pg_statement> note_log_begins(const std::vector<const pg_log_row*>& rows
);

/// Two results: whether the log can be read, and its rows.
[[nodiscard]] pg_batch select_log(std::int64_t run, std::uint64_t after, std::size_t limit);
/// Like store::read_log(). `tail` holds the entries after those of the rows.
[[nodiscard]] result<std::vector<log_entry>> read_log(
    const std::vector<pg_rows>& results, std::uint64_t after, std::size_t limit,
    const std::vector<log_entry>& tail
);

/// One row: the sequence of the run's last entry; 0 if it has none.
[[nodiscard]] pg_statement select_log_end(std::int64_t run);
/// The same for each run that has a record: its number, then the sequence.
[[nodiscard]] pg_statement select_log_ends(const std::vector<std::int64_t>& runs);

/// Makes the partitions of these runs' days if they are missing.
[[nodiscard]] pg_statement need_days_of(const std::vector<std::int64_t>& runs);

} // namespace agui::session
