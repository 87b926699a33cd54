#include "session/postgres/pg_journal.hpp"

#include "session/base/lean_append.hpp"
#include "session/base/leb128.hpp"
#include "session/store/store_failures.hpp"

#include <algorithm>
#include <limits>
#include <list>
#include <map>
#include <stdexcept>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Returns none if the rows of the log have the entries up to $2.
constexpr const char* parts_of_run =
    "SELECT j.entries[array_position(j.runs, $1)] FROM agui.runs r JOIN agui.journal j "
    "ON j.writer = r.journal_writer AND j.batch >= r.journal_from "
    "WHERE r.number = $1 AND r.journal_writer <> 0 AND $1 = ANY(j.runs) "
    "AND $2 > coalesce((SELECT l.last_sequence FROM agui.log_rows l WHERE l.run = $1 "
    "ORDER BY l.first_sequence DESC LIMIT 1), 0) ORDER BY j.batch";
// Makes one pass over a gateway's journal, however many of its runs are wanted.
constexpr const char* parts_of_runs =
    "WITH m AS MATERIALIZED (SELECT number, journal_writer, journal_from FROM agui.runs "
    "WHERE number = ANY($1) AND journal_writer <> 0), "
    "w AS MATERIALIZED (SELECT journal_writer, min(journal_from) AS since FROM m "
    "GROUP BY journal_writer) "
    "SELECT u.run, u.part FROM w JOIN agui.journal j "
    "ON j.writer = w.journal_writer AND j.batch >= w.since AND j.runs && $1 "
    "CROSS JOIN LATERAL unnest(j.runs, j.entries) AS u(run, part) "
    "JOIN m ON m.number = u.run AND m.journal_writer = j.writer AND j.batch >= m.journal_from "
    "ORDER BY j.batch";
constexpr const char* runs_in_journals =
    "SELECT number FROM agui.runs WHERE number = ANY($1) AND journal_writer <> 0";
constexpr const char* lock_runs =
    "SELECT number FROM agui.runs WHERE number = ANY($1) AND journal_writer <> 0 "
    "ORDER BY number FOR UPDATE";
constexpr const char* leave_journal =
    "UPDATE agui.runs SET journal_writer = 0 WHERE number = ANY($1)";
constexpr const char* give_log_up =
    "UPDATE agui.runs SET journal_writer = 0, log = 'dropped' WHERE number = ANY($1) "
    "AND journal_writer <> 0";

// Limit of one transaction. The entries of these runs are up to 8 MB (16 KB of the journal each, as
// rows ten times as much), which the store's thread decodes without a pause.
constexpr std::size_t runs_settled_at_once = 50;

// A run whose parts are being made rows.
struct settled_run {
    explicit settled_run(std::uint64_t end) : reader(end) {}
    pg_parts_reader reader;
    bool is_whole = true;
    pg_log_row row;
};

// Keeps the gap visible, so that the log is gone for every reader. An empty text is no entry.
pg_log_row damaged_row(std::int64_t run, std::uint64_t after) {
    pg_log_row row;
    row.run = run;
    row.first_sequence = after + 1;
    row.last_sequence = after + 1;
    return row;
}

std::vector<std::int64_t> numbers_of(const pg_rows& runs) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        numbers.push_back(runs.integer(i, 0));
    }
    return numbers;
}

// Only the locked runs: the others were settled before.
std::map<std::int64_t, settled_run>
read_parts(const std::vector<std::int64_t>& locked, const pg_rows& ends, const pg_rows& parts) {
    std::map<std::int64_t, settled_run> runs;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (std::ranges::binary_search(locked, ends.integer(i, 0))) {
            runs.try_emplace(ends.integer(i, 0), static_cast<std::uint64_t>(ends.integer(i, 1)));
        }
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto found = runs.find(parts.integer(i, 0));
        if (found == runs.end()) {
            continue;
        }
        settled_run& run = found->second;
        std::vector<log_entry> entries;
        run.is_whole = run.is_whole && run.reader.read(parts.text(i, 1), entries);
        for (const log_entry& each : entries) {
            run.row.run = parts.integer(i, 0);
            run.row.append(each);
        }
    }
    return runs;
}

asio::awaitable<bool> settle_in(pg_transaction& in, const std::vector<std::int64_t>& runs) {
    pg_batch look;
    look.push_back(need_days_of(runs)); // Their partitions may be lost.
    look.emplace_back(lock_runs, runs);
    look.push_back(select_log_ends(runs));
    look.emplace_back(parts_of_runs, runs);
    const auto found = co_await in.read(std::move(look));
    const std::vector<std::int64_t> locked = numbers_of(found.at(1));
    if (locked.empty()) {
        co_return false;
    }
    const auto read = read_parts(locked, found.at(2), found.at(3));
    std::list<pg_log_row> damaged;
    std::vector<const pg_log_row*> rows;
    for (const auto& [run, each] : read) {
        if (!each.row.empty()) {
            rows.push_back(&each.row);
        }
        if (!each.is_whole) {
            rows.push_back(&damaged.emplace_back(damaged_row(run, each.reader.end())));
        }
    }
    pg_batch change;
    if (!rows.empty()) {
        change.push_back(add_log_rows(rows));
    }
    change.emplace_back(leave_journal, locked);
    co_await in.commit(std::move(change));
    co_return true;
}

// A page that the server cannot read destroys only the logs that need it: their runs can still be
// ended.
asio::awaitable<void>
settle_together(pg_shared& shared, std::int64_t gateway, std::vector<std::int64_t> runs) {
    bool is_damaged = false;
    try {
        (void)co_await transact<bool>(
            shared.pool, shared.patience, {.gateway = gateway},
            [&runs](pg_transaction& in) { return settle_in(in, runs); }
        );
    } catch (const pg_error& error) {
        if (!error.is_damage()) {
            throw;
        }
        is_damaged = true;
    }
    if (is_damaged && runs.size() == 1) {
        shared.log.log(
            log_level::error, "the log of a run is lost: the database cannot read it",
            {{"run", std::to_string(runs.front())}}
        );
        (void)co_await write_at_once(shared, {.gateway = gateway}, [&runs] {
            pg_batch batch;
            batch.emplace_back(give_log_up, runs);
            return batch;
        });
    } else if (is_damaged) {
        for (const std::int64_t run : runs) {
            co_await settle_together(shared, gateway, {run});
        }
    }
}

} // namespace

void pg_chain::roll_back(const mark& to) {
    chain_ = to.chain;
    bytes_.resize(to.bytes);
    last_ = to.last;
}

std::string pg_chain::append(const pg_log_row& row) {
    if (bytes_.empty()) {
        chain_.restart();
        first_ = row.first_sequence;
    }
    std::string own;
    for (const log_entry& each : entries_of(row)) {
        chain_.encode(each.json, each.variants, own);
    }
    std::string part;
    put_leb128(part, row.first_sequence);
    put_leb128(part, row.last_sequence - row.first_sequence + 1);
    part += own;
    lean_append(bytes_, own);
    last_ = row.last_sequence;
    return part;
}

pg_log_row pg_chain::as_row(std::int64_t run) const {
    pg_log_row row;
    row.run = run;
    entry_chain chain;
    std::string_view rest = bytes_;
    log_entry entry;
    for (std::uint64_t next = first_; !rest.empty(); ++next) {
        if (!chain.decode(next, rest, entry)) {
            throw std::logic_error("a chain of this process cannot be decoded");
        }
        row.append(entry);
    }
    return row;
}

bool pg_parts_reader::read(std::string_view part, std::vector<log_entry>& entries) {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    if (!take_leb128(part, first) || !take_leb128(part, count) || first > end_ + 1) {
        return false;
    }
    if (first <= end_) {
        return true;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        log_entry entry;
        if (!chain_.decode(first + i, part, entry)) {
            return false;
        }
        entries.push_back(std::move(entry));
        end_ = first + i;
    }
    return true;
}

pg_batch select_log_and_parts(std::int64_t run, std::uint64_t after, std::size_t limit) {
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max() / 2;
    pg_batch batch = select_log(run, after, limit);
    batch.push_back(select_log_end(run));
    batch.emplace_back(
        parts_of_run, run,
        std::min<std::uint64_t>(after, largest) + std::min<std::uint64_t>(limit, largest)
    );
    return batch;
}

result<std::vector<log_entry>>
read_log_and_parts(const std::vector<pg_rows>& results, std::uint64_t after, std::size_t limit) {
    const pg_rows& parts = results.at(3);
    std::vector<log_entry> tail; // Entries that only the journal has.
    pg_parts_reader reader(static_cast<std::uint64_t>(results.at(2).integer(0, 0)));
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!reader.read(parts.text(i, 0), tail)) {
            return log_is_gone();
        }
    }
    return read_log(results, after, limit, tail);
}

asio::awaitable<void>
settle_runs(pg_shared& shared, std::int64_t gateway, std::vector<std::int64_t> runs) {
    if (runs.empty()) {
        co_return;
    }
    const auto found = co_await read_at_once(shared, [&runs] {
        pg_batch batch;
        batch.emplace_back(runs_in_journals, runs);
        return batch;
    });
    std::vector<std::int64_t> left = numbers_of(found.at(0));
    while (!left.empty()) {
        const auto rest = left.size() - std::min(left.size(), runs_settled_at_once);
        co_await settle_together(
            shared, gateway, {left.begin() + static_cast<std::ptrdiff_t>(rest), left.end()}
        );
        left.resize(rest);
    }
}

} // namespace agui::session
