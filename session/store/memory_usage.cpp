#include "session/store/memory_usage.hpp"

#include <mutex>

namespace agui::session {

memory_usage::counters memory_usage::of(const std::string& subject) const {
    const auto found = subjects_.find(subject);
    return found == subjects_.end() ? counters() : found->second;
}

usage_reservation memory_usage::reserve(
    const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now
) {
    const usage_periods at(now);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const counters used = of(claims[i].subject);
        if (!claims[i].month.allow(used.month.in(at.month), amount)) {
            return {now, usage_refusal{i, usage_period::month}};
        }
        if (!claims[i].day.allow(used.day.in(at.day), amount)) {
            return {now, usage_refusal{i, usage_period::day}};
        }
    }
    for (const usage_claim& claim : claims) {
        counters& used = subjects_[claim.subject];
        used.day.add(at.day, amount);
        used.month.add(at.month, amount);
    }
    return {now, std::nullopt};
}

void memory_usage::settle(const usage_settlement& what) {
    const usage_periods at(what.at);
    usage_amount difference = what.used;
    difference -= what.reserved;
    const std::lock_guard lock(mutex_);
    for (const std::string& subject : what.subjects) {
        const auto found = subjects_.find(subject);
        if (found == subjects_.end()) {
            continue;
        }
        counters& used = found->second;
        if (used.day.period == at.day) {
            used.day.used += difference;
        }
        if (used.month.period == at.month) {
            used.month.used += difference;
        }
    }
}

usage_reading memory_usage::read(const std::vector<std::string>& subjects, unix_ms now) const {
    const usage_periods at(now);
    usage_reading found{now, {}};
    const std::lock_guard lock(mutex_);
    for (const std::string& subject : subjects) {
        const counters used = of(subject);
        found.subjects.push_back({used.day.in(at.day), used.month.in(at.month)});
    }
    return found;
}

void memory_usage::drop_before(unix_ms now) {
    const usage_periods at(now);
    const std::lock_guard lock(mutex_);
    std::erase_if(subjects_, [&](const auto& each) { return each.second.month.period < at.month; });
}

} // namespace agui::session
