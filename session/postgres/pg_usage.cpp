#include "session/postgres/pg_usage.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

namespace agui::session {

namespace {

constexpr const char* reserve_usage_call =
    "SELECT agui.reserve_usage($1, $2, $3, $4, $5, $6, $7, $8)";
// In the order of the primary key, as reserve_usage() locks the rows.
constexpr const char* settle_used =
    "INSERT INTO agui.usage AS u (subject, period, input_tokens, output_tokens, micro_cost) "
    "SELECT c.s, c.p, $3, $4, $5 FROM unnest($1, $2) WITH ORDINALITY AS c(s, p, n) ORDER BY c.n "
    "ON CONFLICT (subject, period) DO UPDATE SET "
    "input_tokens = u.input_tokens + excluded.input_tokens, "
    "output_tokens = u.output_tokens + excluded.output_tokens, "
    "micro_cost = u.micro_cost + excluded.micro_cost";
constexpr const char* select_used =
    "SELECT subject, period, input_tokens, output_tokens, micro_cost FROM agui.usage "
    "WHERE subject = ANY ($1) AND period = ANY ($2)";
constexpr const char* select_bytes =
    "SELECT (SELECT coalesce(sum(bytes), 0) FROM agui.threads WHERE principal = $1)::bigint + "
    "(SELECT coalesce(sum(size), 0) FROM agui.attachments WHERE principal = $1)::bigint";
// Numbers of days have eight digits, those of months six.
constexpr const char* drop_used =
    "DELETE FROM agui.usage WHERE period < $1 OR (period > 999999 AND period < $2)";

// A limit of one subject in one period.
struct pg_usage_row {
    std::string_view subject;
    std::int64_t period = 0;
    usage_limits limits;
    usage_refusal place;
};

// The month comes first: its limit is exceeded for longer.
std::vector<pg_usage_row> usage_rows_of(const std::vector<usage_claim>& claims, unix_ms now) {
    const usage_periods at(now);
    std::vector<pg_usage_row> rows;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        rows.push_back({claims[i].subject, at.month, claims[i].month, {i, usage_period::month}});
        rows.push_back({claims[i].subject, at.day, claims[i].day, {i, usage_period::day}});
    }
    std::ranges::sort(rows, {}, [](const pg_usage_row& row) {
        return std::tie(row.subject, row.period);
    });
    return rows;
}

} // namespace

pg_batch reserve_usage_statement(
    const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now
) {
    std::vector<std::string_view> subjects;
    std::vector<std::int64_t> periods;
    std::vector<std::int64_t> input;
    std::vector<std::int64_t> output;
    std::vector<std::int64_t> cost;
    for (const pg_usage_row& row : usage_rows_of(claims, now)) {
        subjects.push_back(row.subject);
        periods.push_back(row.period);
        input.push_back(row.limits.input_tokens.value_or(INT64_MAX));
        output.push_back(row.limits.output_tokens.value_or(INT64_MAX));
        cost.push_back(row.limits.micro_cost.value_or(INT64_MAX));
    }
    pg_batch batch;
    batch.emplace_back(
        reserve_usage_call, subjects, periods, input, output, cost, amount.input_tokens,
        amount.output_tokens, amount.micro_cost
    );
    return batch;
}

std::optional<usage_refusal>
read_refusal(const std::vector<pg_rows>& results, const std::vector<usage_claim>& claims) {
    const std::int64_t index = results.at(0).integer(0, 0);
    if (index < 0) {
        return std::nullopt;
    }
    // The order of the rows does not depend on the time.
    return usage_rows_of(claims, 0).at(static_cast<std::size_t>(index)).place;
}

pg_batch settle_usage_statement(const usage_settlement& what) {
    std::vector<usage_claim> claims;
    for (const std::string& subject : what.subjects) {
        claims.push_back({subject, {}, {}});
    }
    std::vector<std::string_view> subjects;
    std::vector<std::int64_t> periods;
    for (const pg_usage_row& row : usage_rows_of(claims, what.at)) {
        subjects.push_back(row.subject);
        periods.push_back(row.period);
    }
    usage_amount difference = what.used;
    difference -= what.reserved;
    pg_batch batch;
    batch.emplace_back(
        settle_used, subjects, periods, difference.input_tokens, difference.output_tokens,
        difference.micro_cost
    );
    return batch;
}

pg_batch select_usage(const std::vector<std::string>& subjects, unix_ms now) {
    const usage_periods at(now);
    pg_batch batch;
    batch.emplace_back(select_used, subjects, std::vector<std::int64_t>{at.month, at.day});
    return batch;
}

usage_reading read_usage_rows(
    const std::vector<pg_rows>& results, const std::vector<std::string>& subjects, unix_ms now
) {
    const usage_periods at(now);
    const pg_rows& rows = results.at(0);
    usage_reading found{now, std::vector<subject_usage>(subjects.size())};
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const usage_amount used{rows.integer(row, 2), rows.integer(row, 3), rows.integer(row, 4)};
        for (std::size_t i = 0; i < subjects.size(); ++i) {
            if (subjects[i] == rows.text(row, 0)) {
                (rows.integer(row, 1) == at.day ? found.subjects[i].day : found.subjects[i].month) =
                    used;
            }
        }
    }
    return found;
}

pg_batch select_bytes_of_principal(const std::string& principal) {
    pg_batch batch;
    batch.emplace_back(select_bytes, principal);
    return batch;
}

pg_batch drop_usage_before(unix_ms now) {
    pg_batch batch;
    batch.emplace_back(
        drop_used, first_kept_period(now, usage_period::month),
        first_kept_period(now, usage_period::day)
    );
    return batch;
}

} // namespace agui::session
