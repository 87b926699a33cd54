#pragma once

#include "session/postgres/pg_transaction.hpp"
#include "session/postgres/pg_types.hpp"
#include "session/store/usage.hpp"

#include <optional>
#include <string>
#include <vector>

namespace agui::session {

// The statements for the table of usage.

/// The rows are made and locked in the order of the arrays, so that two calls never wait for each
/// other. The check comes after the locks, because each statement of the function sees all earlier
/// commits. It returns the index of the first of its arrays' limits that would be exceeded, or -1
/// if it has reserved.
inline constexpr const char* pg_reserve_usage = R"sql(
CREATE FUNCTION agui.reserve_usage(
    of_subjects bytea[], in_periods bigint[], input_max bigint[], output_max bigint[],
    cost_max bigint[], add_input bigint, add_output bigint, add_cost bigint
) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE exceeded bigint; BEGIN
INSERT INTO agui.usage (subject, period, input_tokens, output_tokens, micro_cost)
SELECT c.s, c.p, 0, 0, 0 FROM unnest(of_subjects, in_periods) WITH ORDINALITY AS c(s, p, n)
ORDER BY c.n ON CONFLICT (subject, period) DO NOTHING;
FOR i IN 1 .. cardinality(of_subjects) LOOP
    PERFORM 1 FROM agui.usage u
    WHERE u.subject = of_subjects[i] AND u.period = in_periods[i] FOR UPDATE;
END LOOP;
SELECT min(c.n) - 1 INTO exceeded
FROM unnest(of_subjects, in_periods, input_max, output_max, cost_max)
WITH ORDINALITY AS c(s, p, most_input, most_output, most_cost, n)
JOIN agui.usage u ON u.subject = c.s AND u.period = c.p
WHERE (add_input > 0 AND u.input_tokens + add_input > c.most_input)
OR (add_output > 0 AND u.output_tokens + add_output > c.most_output)
OR (add_cost > 0 AND u.micro_cost + add_cost > c.most_cost);
IF exceeded IS NULL THEN
    UPDATE agui.usage u SET input_tokens = u.input_tokens + add_input,
    output_tokens = u.output_tokens + add_output, micro_cost = u.micro_cost + add_cost
    FROM unnest(of_subjects, in_periods) AS c(s, p) WHERE u.subject = c.s AND u.period = c.p;
END IF;
RETURN coalesce(exceeded, -1); END $$
)sql";

/// One row with the result of reserve_usage(), for read_refusal().
[[nodiscard]] pg_batch reserve_usage_statement(
    const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now
);
[[nodiscard]] std::optional<usage_refusal>
read_refusal(const std::vector<pg_rows>& results, const std::vector<usage_claim>& claims);

[[nodiscard]] pg_batch settle_usage_statement(const usage_settlement& what);

/// The rows of the subjects in the day and in the month of `now`.
[[nodiscard]] pg_batch select_usage(const std::vector<std::string>& subjects, unix_ms now);
[[nodiscard]] usage_reading read_usage_rows(
    const std::vector<pg_rows>& results, const std::vector<std::string>& subjects, unix_ms now
);

[[nodiscard]] pg_batch select_bytes_of_principal(const std::string& principal);
/// Drops the periods that are not kept at `now`.
[[nodiscard]] pg_batch drop_usage_before(unix_ms now);

} // namespace agui::session
