#include "session/postgres/pg_log_rows.hpp"

#include "session/base/lean_append.hpp"
#include "session/store/store_failures.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

namespace agui::session {

namespace {

constexpr const char* add_rows_of_logs =
    "INSERT INTO agui.log_rows (run, first_sequence, last_sequence, events, lengths, variants) "
    "SELECT r.* FROM unnest($1, $2, $3, $4, $5, $6) AS r";
constexpr const char* state_of_log =
    "SELECT log = 'kept', last_sequence FROM agui.runs WHERE number = $1";
// From the row with the next entry to the row with the last wanted entry.
constexpr const char* rows_of_log =
    "SELECT first_sequence, last_sequence, events, lengths, variants FROM agui.log_rows "
    "WHERE run = $1 AND first_sequence >= coalesce((SELECT max(b.first_sequence) "
    "FROM agui.log_rows b WHERE b.run = $1 AND b.first_sequence <= $2 + 1), 0) "
    "AND first_sequence <= $3 AND last_sequence > $2 ORDER BY first_sequence";
constexpr const char* end_of_log =
    "SELECT coalesce((SELECT last_sequence FROM agui.log_rows WHERE run = $1 "
    "ORDER BY first_sequence DESC LIMIT 1), 0)";
constexpr const char* ends_of_logs =
    "SELECT r.number, coalesce((SELECT l.last_sequence FROM agui.log_rows l WHERE l.run = r.number "
    "ORDER BY l.first_sequence DESC LIMIT 1), 0) FROM agui.runs r WHERE r.number = ANY($1)";
constexpr const char* note_begin =
    "UPDATE agui.runs SET last_sequence = 1 WHERE number = ANY($1) AND last_sequence = 0 "
    "AND status = 'active'";
constexpr const char* need_days = "SELECT agui.need_day(run >> 40) FROM unnest($1) AS run";

void put(std::string& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
        to += static_cast<char>(value >> (8U * static_cast<unsigned>(i)) & 0xffU);
    }
}

// Returns nullopt if there are fewer bytes.
std::optional<std::uint64_t> take(std::string_view& from, std::size_t bytes) {
    if (from.size() < bytes) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        value |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8U * i);
    }
    from.remove_prefix(bytes);
    return value;
}

std::optional<std::string_view> take_text(std::string_view& from, std::size_t bytes) {
    if (from.size() < bytes) {
        return std::nullopt;
    }
    const std::string_view text = from.substr(0, bytes);
    from.remove_prefix(bytes);
    return text;
}

struct variant {
    std::uint64_t sequence = 0;
    std::string_view text;
};

// Returns false if the bytes are damaged.
bool next_variant(std::string_view& from, variant& next) {
    const auto sequence = take(from, 8);
    const auto length = take(from, 4);
    const auto text = length ? take_text(from, *length) : std::nullopt;
    if (!sequence || !text) {
        return false;
    }
    next = {*sequence, *text};
    return true;
}

struct row_view {
    std::uint64_t first;
    std::uint64_t last;
    std::string_view events;
    std::string_view lengths;
    std::string_view variants;
};

// Appends the row's entries above `after` until there are `limit`. Returns false if the row is
// damaged.
bool decode(row_view row, std::uint64_t after, std::size_t limit, std::vector<log_entry>& entries) {
    variant next;
    for (std::uint64_t at = row.first; at <= row.last && entries.size() < limit; ++at) {
        const auto length = take(row.lengths, 4);
        const auto json = length ? take_text(row.events, *length) : std::nullopt;
        if (!json) {
            return false;
        }
        while (next.sequence < at && !row.variants.empty()) {
            if (!next_variant(row.variants, next)) {
                return false;
            }
        }
        if (at > after) {
            log_entry& entry = entries.emplace_back();
            entry.sequence = at;
            entry.json = *json;
            if (next.sequence == at) {
                entry.variants = next.text;
            }
        }
    }
    return true;
}

row_view view_of(const pg_rows& rows, std::size_t row) {
    return {
        static_cast<std::uint64_t>(rows.integer(row, 0)),
        static_cast<std::uint64_t>(rows.integer(row, 1)), rows.text(row, 2), rows.text(row, 3),
        rows.text(row, 4)
    };
}

struct row_columns {
    explicit row_columns(const std::vector<const pg_log_row*>& rows) {
        for (const pg_log_row* const each : rows) {
            const pg_log_row& row = *each;
            runs.push_back(row.run);
            firsts.push_back(static_cast<std::int64_t>(row.first_sequence));
            lasts.push_back(static_cast<std::int64_t>(row.last_sequence));
            events.emplace_back(row.events);
            lengths.emplace_back(row.lengths);
            variants.emplace_back(row.variants);
        }
    }
    std::vector<std::int64_t> runs;
    std::vector<std::int64_t> firsts;
    std::vector<std::int64_t> lasts;
    std::vector<std::string_view> events;
    std::vector<std::string_view> lengths;
    std::vector<std::string_view> variants;
};

} // namespace

void pg_log_row::append(const log_slice& slice) {
    lean_append(events, slice.events);
    std::uint32_t begin = 0;
    for (const std::uint32_t end : slice.ends) {
        put(lengths, end - begin, 4);
        begin = end;
    }
    for (const auto& [index, text] : slice.variants) {
        put(variants, slice.first_sequence + index, 8);
        put(variants, text.size(), 4);
        variants += text;
    }
    last_sequence = slice.first_sequence + slice.ends.size() - 1;
}

void pg_log_row::append(const pg_log_row& next) {
    if (empty()) {
        *this = next;
        return;
    }
    events += next.events;
    lengths += next.lengths;
    variants += next.variants;
    last_sequence = next.last_sequence;
}

void pg_log_row::append(const log_entry& next) {
    if (empty()) {
        first_sequence = next.sequence;
    }
    lean_append(events, next.json);
    put(lengths, next.json.size(), 4);
    if (!next.variants.empty()) {
        put(variants, next.sequence, 8);
        put(variants, next.variants.size(), 4);
        variants += next.variants;
    }
    last_sequence = next.sequence;
}

std::vector<log_entry> entries_of(const pg_log_row& row) {
    std::vector<log_entry> entries;
    (void)decode(
        {row.first_sequence, row.last_sequence, row.events, row.lengths, row.variants}, 0,
        std::numeric_limits<std::size_t>::max(), entries
    );
    return entries;
}

void add_rows(pg_params& to, const std::vector<const pg_log_row*>& rows) {
    to.add(row_columns(rows).runs);
    add_row_columns(to, rows);
}

void add_row_columns(pg_params& to, const std::vector<const pg_log_row*>& rows) {
    const row_columns all(rows);
    to.add(all.firsts);
    to.add(all.lasts);
    to.add(all.events);
    to.add(all.lengths);
    to.add(all.variants);
}

std::vector<pg_text> texts_of(const std::set<std::string>& names) {
    std::vector<pg_text> texts;
    texts.reserve(names.size());
    for (const std::string& name : names) {
        texts.push_back({name});
    }
    return texts;
}

pg_statement add_log_rows(const std::vector<const pg_log_row*>& rows) {
    pg_statement statement(add_rows_of_logs);
    add_rows(statement.params, rows);
    return statement;
}

std::optional<pg_statement> note_log_begins(const std::vector<const pg_log_row*>& rows) {
    std::vector<std::int64_t> runs;
    for (const pg_log_row* const row : rows) {
        if (row->first_sequence == 1) {
            runs.push_back(row->run);
        }
    }
    return runs.empty() ? std::nullopt : std::optional(pg_statement(note_begin, runs));
}

pg_batch select_log(std::int64_t run, std::uint64_t after, std::size_t limit) {
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max() / 2;
    const std::uint64_t begin = std::min(after, largest);
    pg_batch batch;
    batch.emplace_back(state_of_log, run);
    batch.emplace_back(rows_of_log, run, begin, begin + std::min(std::uint64_t{limit}, largest));
    return batch;
}

result<std::vector<log_entry>> read_log(
    const std::vector<pg_rows>& results, std::uint64_t after, std::size_t limit,
    const std::vector<log_entry>& tail
) {
    const pg_rows& state = results.at(0);
    if (state.empty() || !state.boolean(0, 0)) {
        return log_is_gone();
    }
    const pg_rows& rows = results.at(1);
    std::vector<log_entry> entries;
    std::uint64_t reached = after;
    for (std::size_t i = 0; i < rows.size() && entries.size() < limit; ++i) {
        const auto first = static_cast<std::uint64_t>(rows.integer(i, 0));
        if (first > reached + 1 || !decode(view_of(rows, i), reached, limit, entries)) {
            return log_is_gone();
        }
        reached = entries.empty() ? reached : entries.back().sequence;
    }
    for (auto each = tail.begin(); each != tail.end() && entries.size() < limit; ++each) {
        if (each->sequence > reached) {
            if (each->sequence != reached + 1) {
                return log_is_gone();
            }
            reached = each->sequence;
            entries.push_back(*each);
        }
    }
    const auto end = static_cast<std::uint64_t>(state.integer(0, 1));
    if (entries.size() < limit && reached < end) {
        return log_is_gone();
    }
    return entries;
}

pg_statement select_log_end(std::int64_t run) { return pg_statement(end_of_log, run); }

pg_statement select_log_ends(const std::vector<std::int64_t>& runs) {
    return pg_statement(ends_of_logs, runs);
}

pg_statement need_days_of(const std::vector<std::int64_t>& runs) {
    return pg_statement(need_days, runs);
}

} // namespace agui::session
