#pragma once

#include "session/postgres/pg_log_rows.hpp"
#include "session/postgres/pg_shared.hpp"
#include "session/store/entry_chain.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// The journal of a gateway (agui.journal): a row for each transaction that stores entries of active
// runs, with a part for each of these runs. The log of such a run consists of its rows in
// agui.log_rows, followed by its parts in the order of the batches.
//
// A part is the number of its first entry and their count (LEB128), and the entries as an
// entry_chain encodes them. The chain continues across the parts, and restarts after each row of
// agui.log_rows.

/// Entries of an active run of this process after its last row in agui.log_rows. A moved-from chain
/// is empty.
class pg_chain {
public:
    [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }
    [[nodiscard]] std::uint64_t first() const noexcept { return first_; }

    /// A position in the chain, for roll_back().
    struct mark {
        entry_chain chain;
        std::size_t bytes = 0;
        std::uint64_t last = 0;
    };
    [[nodiscard]] mark position() const { return {chain_, bytes_.size(), last_}; }
    void roll_back(const mark& to);

    /// Appends the entries of a row that continues the chain. Returns them as a part.
    [[nodiscard]] std::string append(const pg_log_row& row);
    /// All entries.
    [[nodiscard]] pg_log_row as_row(std::int64_t run) const;

private:
    entry_chain chain_{entry_chain::sharing::twice};
    std::string bytes_;
    std::uint64_t first_ = 0;
    std::uint64_t last_ = 0;
};

/// Reads the parts of one run, in order.
class pg_parts_reader {
public:
    /// `end` is the last entry of the run's rows in agui.log_rows.
    explicit pg_parts_reader(std::uint64_t end) noexcept : end_(end) {}

    /// Appends the part's entries. Ignores a part whose entries were there before: its writer lost
    /// the answer and wrote it again, or a row has them. Returns false if entries before it are
    /// missing or it is damaged; then no further part can be read.
    [[nodiscard]] bool read(std::string_view part, std::vector<log_entry>& entries);

    /// The last entry that was read, or was there before.
    [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

private:
    std::uint64_t end_;
    entry_chain chain_;
};

/// The results of select_log(), the end of the rows, and the parts of an active run if the page
/// goes beyond its rows. Like store::read_log().
[[nodiscard]] pg_batch
select_log_and_parts(std::int64_t run, std::uint64_t after, std::size_t limit);
[[nodiscard]] result<std::vector<log_entry>>
read_log_and_parts(const std::vector<pg_rows>& results, std::uint64_t after, std::size_t limit);

/// Copies the parts of active runs to agui.log_rows and clears the journal in their records, so
/// that later parts are ignored. A run whose entries the server cannot read loses its log. The
/// caller has the leases of the runs under its number `gateway`, or passes 0 if it knows that it is
/// alone. Each transaction settles up to 50 runs. Throws pg_error or pg_unavailable; some runs may
/// then be settled.
[[nodiscard]] boost::asio::awaitable<void>
settle_runs(pg_shared& shared, std::int64_t gateway, std::vector<std::int64_t> runs);

} // namespace agui::session
