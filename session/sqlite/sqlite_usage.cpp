#include "session/sqlite/sqlite_usage.hpp"

#include <utility>

namespace agui::session {

namespace {

// Every stream waits for the transaction.
constexpr int periods_erased_at_once = 256;
// Numbers of days are above it, those of months below.
constexpr std::int64_t last_month_number = 999'999;

} // namespace

sqlite_usage::sqlite_usage(database& db)
    : used_(
          db, "SELECT input_tokens, output_tokens, micro_cost FROM usage "
              "WHERE subject = ? AND period = ?"
      ),
      add_(
          db, "INSERT INTO usage (subject, period, input_tokens, output_tokens, micro_cost) "
              "VALUES (?, ?, ?, ?, ?) ON CONFLICT (subject, period) DO UPDATE SET "
              "input_tokens = input_tokens + excluded.input_tokens, "
              "output_tokens = output_tokens + excluded.output_tokens, "
              "micro_cost = micro_cost + excluded.micro_cost"
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

usage_amount sqlite_usage::used(const std::string& subject, std::int64_t period) {
    statement::rows row = used_.query(subject, period);
    return row.next() ? usage_amount{row.integer(0), row.integer(1), row.integer(2)}
                      : usage_amount();
}

void sqlite_usage::add(const std::string& subject, std::int64_t period, const usage_amount& more) {
    add_.execute(subject, period, more.input_tokens, more.output_tokens, more.micro_cost);
}

usage_reservation sqlite_usage::reserve(
    const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now
) {
    const usage_periods at(now);
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const usage_claim& claim = claims[i];
        if (claim.month.any() && !claim.month.allow(used(claim.subject, at.month), amount)) {
            return {now, usage_refusal{i, usage_period::month}};
        }
        if (claim.day.any() && !claim.day.allow(used(claim.subject, at.day), amount)) {
            return {now, usage_refusal{i, usage_period::day}};
        }
    }
    for (const usage_claim& claim : claims) {
        add(claim.subject, at.month, amount);
        add(claim.subject, at.day, amount);
    }
    return {now, std::nullopt};
}

void sqlite_usage::settle(const usage_settlement& what) {
    const usage_periods at(what.at);
    usage_amount difference = what.used;
    difference -= what.reserved;
    for (const std::string& subject : what.subjects) {
        add(subject, at.month, difference);
        add(subject, at.day, difference);
    }
}

usage_reading sqlite_usage::read(const std::vector<std::string>& subjects, unix_ms now) {
    const usage_periods at(now);
    usage_reading found{now, {}};
    for (const std::string& subject : subjects) {
        found.subjects.push_back({used(subject, at.day), used(subject, at.month)});
    }
    return found;
}

bool sqlite_usage::erase_some(unix_ms now) {
    std::vector<std::pair<std::string, std::int64_t>> old;
    {
        statement::rows row = old_.query(
            first_kept_period(now, usage_period::month), last_month_number,
            first_kept_period(now, usage_period::day), periods_erased_at_once
        );
        while (row.next()) {
            old.emplace_back(row.text(0), row.integer(1));
        }
    }
    for (const auto& [subject, period] : old) {
        erase_.execute(subject, period);
    }
    return !old.empty();
}

std::uint64_t sqlite_usage::bytes_of_principal(const std::string& principal) {
    statement::rows row = bytes_.query(principal);
    return row.next() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

} // namespace agui::session
