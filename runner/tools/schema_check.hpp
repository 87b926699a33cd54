#pragma once

#include "runner/tools/check_budget.hpp"
#include "runner/tools/json_constant.hpp"
#include "runner/tools/schema_rules.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {

/// Violations found by a check. The check stops once the list is full.
class violation_list {
public:
    explicit violation_list(std::size_t room = 8) noexcept : room_(room) {}

    [[nodiscard]] bool is_full() const noexcept { return texts_.size() >= room_; }
    [[nodiscard]] const std::vector<std::string>& texts() const noexcept { return texts_; }
    /// Does nothing if the list is full.
    void add(std::string text) {
        if (!is_full()) {
            texts_.push_back(std::move(text));
        }
    }

private:
    std::size_t room_;
    /// Texts `At /path: rule.`, each of a few hundred bytes at most.
    std::vector<std::string> texts_;
};

enum class check_result { fits, violates, gave_up };

/// Checks a value against the root of `rules`. If `found` is null, the first violation ends the
/// check. Returns gave_up if the budget was spent, or the value is nested too deeply, before the
/// first violation was found. Needs memory only for the depth of the value, and no hash.
[[nodiscard]] check_result check_against(
    const schema_rules& rules, const boost::json::value& value, null_members nulls,
    violation_list* found, check_budget& budget
);

} // namespace agui::runner
