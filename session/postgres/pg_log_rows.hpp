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

/// Entries of one run as a row of agui.log_rows has them. Rows that follow each other make one by
/// joining their bytes: lengths are 4 bytes for each event, variants have the sequence in 8 bytes,
/// the length in 4 and the text; all numbers little-endian.
struct pg_log_row {
    std::int64_t run = 0;
    std::uint64_t first_sequence = 0;
    std::uint64_t last_sequence = 0; ///< first_sequence - 1: it is empty.
    std::string events;
    std::string lengths;
    std::string variants;

    [[nodiscard]] bool empty() const noexcept { return events.empty() && lengths.empty(); }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return events.size() + lengths.size() + variants.size();
    }
    /// The slice continues the row. Throws std::bad_alloc, and then has appended nothing that
    /// counts.
    void append(const log_slice& slice);
    void append(const pg_log_row& next);
};

/// Rows of one log. Those of a log with so few are not joined when its run has ended: rewriting
/// them saves nothing.
struct pg_log_size {
    static constexpr std::size_t few_rows = 4;

    std::size_t rows = 0;
    std::size_t bytes = 0;
    bool is_known = true;

    void add(const pg_log_row& row) noexcept {
        rows += row.empty() ? 0 : 1;
        bytes += row.bytes();
    }
    /// runs.log_bytes; nullopt: the rows are to be joined.
    [[nodiscard]] std::optional<std::int64_t> bytes_without_joining() const noexcept {
        return is_known && rows <= few_rows ? std::optional(static_cast<std::int64_t>(bytes))
                                            : std::nullopt;
    }
};

/// Does nothing for rows that are there (after a lost connection they are written again), and
/// nothing at all on a connection that is not one of `known`. One row: that connection, by a name
/// that no other connection to a server has, nor one after its restart.
[[nodiscard]] pg_statement
insert_log_rows(const std::vector<const pg_log_row*>& rows, const std::set<std::string>& known);
/// For a transaction that is not carried out twice. Fails if one is there: another that was given
/// up has ended late.
[[nodiscard]] pg_statement add_log_rows(const std::vector<const pg_log_row*>& rows);

/// The arguments of agui.end_run() that are its rows.
void add_row_columns(pg_params& to, const std::vector<const pg_log_row*>& rows);
/// As arguments of a statement.
[[nodiscard]] std::vector<pg_text> texts_of(const std::set<std::string>& names);

/// Notes in the records of active runs whose first entries are among `rows` that they have a log,
/// so that a log which loses all its rows is not taken for that of a run which has said nothing. To
/// be in one transaction with their insertion; `known` as that has it, null: it has none. nullopt:
/// no row is a first one.
[[nodiscard]] std::optional<pg_statement>
note_log_begins(const std::vector<const pg_log_row*>& rows, const std::set<std::string>* known);

/// Two results: whether the log can be read, and its rows.
[[nodiscard]] pg_batch select_log(std::int64_t run, std::uint64_t after, std::size_t limit);
/// As store::read_log().
[[nodiscard]] result<std::vector<log_entry>>
read_log(const std::vector<pg_rows>& results, std::uint64_t after, std::size_t limit);

/// One row: the sequence of the run's last entry; 0: it has none.
[[nodiscard]] pg_statement select_log_end(std::int64_t run);
/// The same for each of them, after its number.
[[nodiscard]] pg_statement select_log_ends(const std::vector<std::int64_t>& runs);

/// Tells the processes that watch one of the runs.
[[nodiscard]] pg_statement notify_watchers(const std::vector<std::int64_t>& runs);

} // namespace agui::session
