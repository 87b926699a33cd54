#include "session/sqlite/sqlite_usage.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <mutex>
#include <utility>

namespace agui::session {

namespace {

// Numbers of days are above it, those of months below.
constexpr std::int64_t last_month_number = 999'999;
// An interval after all others.
constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

usage_amount sum(usage_amount left, const usage_amount& right) noexcept { return left += right; }

usage_amount times(const usage_amount& amount, std::int64_t factor) noexcept {
    return {
        amount.input_tokens * factor, amount.output_tokens * factor, amount.micro_cost * factor
    };
}

usage_amount larger(const usage_amount& left, const usage_amount& right) noexcept {
    return {
        std::max(left.input_tokens, right.input_tokens),
        std::max(left.output_tokens, right.output_tokens),
        std::max(left.micro_cost, right.micro_cost)
    };
}

bool is_within(const usage_amount& used, const usage_amount& stored) noexcept {
    return larger(used, stored) == stored;
}

std::vector<std::string> subjects_of(const std::vector<usage_claim>& claims) {
    std::vector<std::string> subjects;
    subjects.reserve(claims.size());
    for (const usage_claim& claim : claims) {
        subjects.push_back(claim.subject);
    }
    return subjects;
}

// Number of calls that a row may have room for. A kill must leave most of the limit.
std::int64_t calls_within(
    const std::optional<std::int64_t>& limit, std::int64_t used, std::int64_t one
) noexcept {
    return !limit || one <= 0 ? sqlite_usage::calls_ahead_max
                              : (*limit - used) / sqlite_usage::left_parts / one;
}

std::int64_t
calls_ahead(const usage_limits& limits, const usage_amount& used, const usage_amount& one) {
    return std::clamp<std::int64_t>(
        std::min(
            {calls_within(limits.input_tokens, used.input_tokens, one.input_tokens),
             calls_within(limits.output_tokens, used.output_tokens, one.output_tokens),
             calls_within(limits.micro_cost, used.micro_cost, one.micro_cost)}
        ),
        0, sqlite_usage::calls_ahead_max
    );
}

// Limits of the month and the day of each claim, in the order of sqlite_usage::find_all().
const usage_limits& limits_of(const std::vector<usage_claim>& claims, std::size_t place) {
    const usage_claim& claim = claims[place / 2];
    return place % 2 == 0 ? claim.month : claim.day;
}

std::optional<usage_refusal> refusal_of(
    const std::vector<usage_claim>& claims, const std::vector<usage_count*>& counts,
    const usage_amount& amount
) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (!limits_of(claims, i).allow(counts[i]->used, amount)) {
            return usage_refusal{i / 2, i % 2 == 0 ? usage_period::month : usage_period::day};
        }
    }
    return std::nullopt;
}

bool has_room(const std::vector<usage_count*>& counts, const usage_amount& amount) {
    return std::ranges::all_of(counts, [&](const usage_count* each) {
        return is_within(sum(each->used, amount), each->stored);
    });
}

usage_amount difference_of(const usage_settlement& what) noexcept {
    usage_amount difference = what.used;
    return difference -= what.reserved;
}

} // namespace

sqlite_usage::sqlite_usage(database& db)
    : select_(
          db, "SELECT input_tokens, output_tokens, micro_cost FROM usage "
              "WHERE subject = ? AND period = ?"
      ),
      write_(
          db, "INSERT INTO usage (subject, period, input_tokens, output_tokens, micro_cost) "
              "VALUES (?, ?, ?, ?, ?) ON CONFLICT (subject, period) DO UPDATE SET "
              "input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, "
              "micro_cost = excluded.micro_cost"
      ),
      old_(
          db, "SELECT subject, period FROM usage "
              "WHERE period < ? OR (period > ? AND period < ?) LIMIT ?"
      ),
      erase_(db, "DELETE FROM usage WHERE subject = ? AND period = ?"),
      bytes_(
          db, "SELECT (SELECT coalesce(sum(bytes), 0) FROM threads WHERE principal = ?1) + "
              "(SELECT coalesce(sum(size), 0) FROM attachments WHERE principal = ?1)"
      ) {}

std::optional<usage_reservation> sqlite_usage::try_reserve(
    const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now
) {
    const std::vector<std::string> subjects = subjects_of(claims);
    const std::lock_guard lock(mutex_);
    const auto counts = find_all(subjects, usage_periods(now));
    if (counts.empty()) {
        return std::nullopt;
    }
    if (const auto refused = refusal_of(claims, counts, amount)) {
        return usage_reservation{now, refused};
    }
    if (!has_room(counts, amount)) {
        return std::nullopt;
    }
    for (usage_count* const each : counts) {
        each->used += amount;
        each->interval = interval_;
    }
    return usage_reservation{now, std::nullopt};
}

usage_reservation sqlite_usage::reserve(
    const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now
) {
    const usage_periods at(now);
    const std::vector<std::string> subjects = subjects_of(claims);
    need_all(subjects, at);
    std::vector<row> rows;
    {
        const std::lock_guard lock(mutex_);
        const auto counts = find_all(subjects, at);
        if (const auto refused = refusal_of(claims, counts, amount)) {
            return {now, refused};
        }
        add(subjects, counts, amount);
        std::int64_t ahead = calls_ahead_max;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            ahead = std::min(ahead, calls_ahead(limits_of(claims, i), counts[i]->used, amount));
        }
        rows = rows_with_room(subjects, counts, times(amount, ahead));
    }
    write(rows);
    return {now, std::nullopt};
}

bool sqlite_usage::try_settle(const usage_settlement& what) {
    const usage_amount difference = difference_of(what);
    const std::lock_guard lock(mutex_);
    const auto counts = find_all(what.subjects, usage_periods(what.at));
    if (counts.empty() || !has_room(counts, difference)) {
        return false;
    }
    for (usage_count* const each : counts) {
        each->used += difference;
        each->interval = interval_;
    }
    return true;
}

void sqlite_usage::settle(const usage_settlement& what) {
    const usage_periods at(what.at);
    need_all(what.subjects, at);
    std::vector<row> rows;
    {
        const std::lock_guard lock(mutex_);
        const auto counts = find_all(what.subjects, at);
        add(what.subjects, counts, difference_of(what));
        rows = rows_with_room(what.subjects, counts, usage_amount());
    }
    write(rows);
}

// What it gives back waits for the commit. If the transaction is rolled back instead, nobody may
// have used it.
void sqlite_usage::add(
    const std::vector<std::string>& subjects, const std::vector<usage_count*>& counts,
    const usage_amount& difference
) {
    const usage_amount more = larger(difference, usage_amount());
    usage_amount less = difference;
    less -= more;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        changes_.push_back({subjects[i / 2], counts[i]->period, more, less});
        counts[i]->used += more;
        counts[i]->interval = interval_;
    }
}

std::vector<sqlite_usage::row> sqlite_usage::rows_with_room(
    const std::vector<std::string>& subjects, const std::vector<usage_count*>& counts,
    const usage_amount& room
) {
    std::vector<row> rows;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        usage_count& each = *counts[i];
        if (!is_within(each.used, each.row)) {
            each.row = larger(sum(each.used, room), each.row);
            rows.push_back({subjects[i / 2], each.period, each.row});
        }
    }
    return rows;
}

std::optional<usage_reading>
sqlite_usage::try_read(const std::vector<std::string>& subjects, unix_ms now) {
    usage_reading found{now, {}};
    const std::lock_guard lock(mutex_);
    const auto counts = find_all(subjects, usage_periods(now));
    if (counts.empty()) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < counts.size(); i += 2) {
        found.subjects.push_back({.day = counts[i + 1]->used, .month = counts[i]->used});
    }
    return found;
}

usage_reading sqlite_usage::read(const std::vector<std::string>& subjects, unix_ms now) {
    const usage_periods at(now);
    const auto used = [this](const std::string& subject, std::int64_t period) {
        {
            const std::lock_guard lock(mutex_);
            if (const usage_count* const known = find(subject, period)) {
                return known->used;
            }
        }
        return read_row(subject, period);
    };
    usage_reading found{now, {}};
    for (const std::string& subject : subjects) {
        found.subjects.push_back({used(subject, at.day), used(subject, at.month)});
    }
    return found;
}

usage_count* sqlite_usage::find(const std::string& subject, std::int64_t period) {
    const auto counts = subjects_.find(subject);
    if (counts == subjects_.end()) {
        return nullptr;
    }
    const auto found = std::ranges::find(counts->second, period, &usage_count::period);
    return found == counts->second.end() ? nullptr : &*found;
}

std::vector<usage_count*>
sqlite_usage::find_all(const std::vector<std::string>& subjects, const usage_periods& at) {
    std::vector<usage_count*> counts;
    counts.reserve(2 * subjects.size());
    for (const std::string& subject : subjects) {
        for (const std::int64_t period : {at.month, at.day}) {
            usage_count* const found = find(subject, period);
            if (found == nullptr) {
                return {};
            }
            counts.push_back(found);
        }
    }
    return counts;
}

void sqlite_usage::need_all(const std::vector<std::string>& subjects, const usage_periods& at) {
    bool is_missing = false;
    {
        const std::lock_guard lock(mutex_);
        is_missing = find_all(subjects, at).empty();
    }
    if (!is_missing) {
        return;
    }
    if (is_full()) {
        (void)store_unused_since(interval(), rows_at_once);
    }
    if (is_full()) {
        (void)store_unused_since(never, rows_at_once);
    }
    for (const std::string& subject : subjects) {
        need(subject, at.month);
        need(subject, at.day);
    }
}

void sqlite_usage::need(const std::string& subject, std::int64_t period) {
    {
        const std::lock_guard lock(mutex_);
        if (find(subject, period) != nullptr) {
            return;
        }
    }
    const usage_amount row = read_row(subject, period);
    const std::lock_guard lock(mutex_);
    subjects_[subject].push_back({period, row, row, row, interval_});
}
bool sqlite_usage::is_full() {
    const std::lock_guard lock(mutex_);
    return subjects_.size() >= subjects_max;
}

std::uint64_t sqlite_usage::interval() {
    const std::lock_guard lock(mutex_);
    return interval_;
}

bool sqlite_usage::store_idle() {
    {
        const std::lock_guard lock(mutex_);
        ++interval_;
    }
    return store_more_idle();
}

bool sqlite_usage::store_more_idle() { return store_unused_since(interval() - 1, rows_at_once); }

void sqlite_usage::store_all() {
    (void)store_unused_since(never, std::numeric_limits<std::size_t>::max());
}

bool sqlite_usage::store_unused_since(std::uint64_t interval, std::size_t rows_max) {
    std::vector<row> rows;
    bool is_whole = true;
    {
        const auto is_unused = [&](const usage_count& each) {
            return each.interval < interval;
        };
        const std::lock_guard lock(mutex_);
        for (auto each = subjects_.begin(); each != subjects_.end() && is_whole;) {
            auto& [subject, counts] = *each;
            if (std::ranges::any_of(counts, is_unused)) {
                forgotten_.push_back(subject);
                for (const usage_count& count : counts) {
                    if (is_unused(count) && count.used != count.row) {
                        rows.push_back({subject, count.period, count.used});
                    }
                }
                std::erase_if(counts, is_unused);
            }
            each = counts.empty() ? subjects_.erase(each) : std::next(each);
            is_whole = rows.size() < rows_max;
        }
    }
    write(rows);
    return !is_whole;
}

usage_amount sqlite_usage::read_row(const std::string& subject, std::int64_t period) {
    statement::rows found = select_.query(subject, period);
    return found.next() ? usage_amount{found.integer(0), found.integer(1), found.integer(2)}
                        : usage_amount();
}

void sqlite_usage::write(const std::vector<row>& rows) {
    for (const row& each : rows) {
        const usage_amount& amount = each.amount;
        write_.execute(
            each.subject, each.period, amount.input_tokens, amount.output_tokens, amount.micro_cost
        );
    }
}

void sqlite_usage::committed() noexcept {
    if (!changes_.empty()) {
        const std::lock_guard lock(mutex_);
        for (const change& each : changes_) {
            if (usage_count* const known = find(each.subject, each.period)) {
                known->used += each.less;
                known->stored = known->row;
            }
        }
    }
    changes_.clear();
    forgotten_.clear();
}

// A forgotten subject may have been read again from its uncommitted row, so it is forgotten once
// more.
void sqlite_usage::rolled_back() noexcept {
    if (!changes_.empty() || !forgotten_.empty()) {
        const std::lock_guard lock(mutex_);
        for (const std::string& each : forgotten_) {
            subjects_.erase(each);
        }
        for (const change& each : changes_) {
            if (usage_count* const known = find(each.subject, each.period)) {
                known->used -= each.more;
                known->row = known->stored;
            }
        }
    }
    changes_.clear();
    forgotten_.clear();
}

bool sqlite_usage::erase_some(unix_ms now) {
    std::vector<std::pair<std::string, std::int64_t>> old;
    {
        statement::rows found = old_.query(
            first_kept_period(now, usage_period::month), last_month_number,
            first_kept_period(now, usage_period::day), rows_at_once
        );
        while (found.next()) {
            old.emplace_back(found.text(0), found.integer(1));
        }
    }
    for (const auto& [subject, period] : old) {
        erase_.execute(subject, period);
    }
    return !old.empty();
}

std::uint64_t sqlite_usage::bytes_of_principal(const std::string& principal) {
    statement::rows found = bytes_.query(principal);
    return found.next() ? static_cast<std::uint64_t>(found.integer(0)) : 0;
}

} // namespace agui::session
