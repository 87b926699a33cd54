#include "gateway/quota/request_rates.hpp"

#include <algorithm>
#include <mutex>

namespace agui::gateway {

namespace {

constexpr std::int64_t window_seconds = 60;
// Every full map is searched for idle subjects, at most once in this time.
constexpr std::int64_t sweep_seconds = 5;

std::int64_t second_of(request_rates::time_point now) noexcept {
    return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
}

request_rates::state
state_of(const request_rates::claim& what, minute_window& window, std::int64_t second) {
    const std::uint32_t count = window.count(second);
    request_rates::state found{what.name, what.limit};
    found.remaining = what.limit - std::min(count, what.limit);
    found.reset = window.until_next(second);
    found.exceeded = count >= what.limit;
    return found;
}

} // namespace

std::uint32_t minute_window::count(std::int64_t second) {
    const auto first = std::ranges::find_if(seconds_, [second](const auto& each) {
        return each.first >= second - window_seconds;
    });
    for (auto each = seconds_.begin(); each != first; ++each) {
        count_ -= each->second;
    }
    seconds_.erase(seconds_.begin(), first);
    return count_;
}

void minute_window::add(std::int64_t second) {
    if (seconds_.empty() || seconds_.back().first < second) {
        seconds_.emplace_back(second, 0U);
    }
    ++seconds_.back().second;
    ++count_;
}

bool minute_window::is_idle(std::int64_t second) const noexcept {
    return seconds_.empty() || seconds_.back().first < second - window_seconds;
}

std::int64_t minute_window::until_next(std::int64_t second) const noexcept {
    return seconds_.empty() ? 0 : seconds_.front().first + window_seconds + 1 - second;
}

minute_window& request_rates::window_of(const claim& what, std::int64_t second) {
    subjects& named = names_[std::string(what.name)];
    const auto known = named.windows.find(what.subject);
    if (known != named.windows.end()) {
        return known->second;
    }
    if (named.windows.size() >= subjects_max_) {
        named.forget_idle(second);
    }
    return named.windows.size() >= subjects_max_ ? named.others : named.windows[what.subject];
}

void request_rates::subjects::forget_idle(std::int64_t second) {
    if (second - last_sweep < sweep_seconds && last_sweep != 0) {
        return;
    }
    last_sweep = second;
    std::erase_if(windows, [second](const auto& each) { return each.second.is_idle(second); });
}

std::vector<request_rates::state>
request_rates::add(const std::vector<claim>& claims, time_point now) {
    const std::int64_t second = second_of(now);
    std::vector<state> states;
    const std::lock_guard lock(mutex_);
    bool is_within = true;
    for (const claim& each : claims) {
        states.push_back(state_of(each, window_of(each, second), second));
        is_within = is_within && !states.back().exceeded;
    }
    for (std::size_t i = 0; is_within && i < claims.size(); ++i) {
        minute_window& window = window_of(claims[i], second);
        window.add(second);
        states[i].remaining -= 1;
        states[i].reset = window.until_next(second);
    }
    return states;
}

request_rates::state request_rates::look(const claim& what, time_point now) {
    const std::int64_t second = second_of(now);
    const std::lock_guard lock(mutex_);
    minute_window none;
    const auto named = names_.find(what.name);
    if (named == names_.end()) {
        return state_of(what, none, second);
    }
    const auto known = named->second.windows.find(what.subject);
    return state_of(what, known == named->second.windows.end() ? none : known->second, second);
}

std::size_t request_rates::size() const {
    const std::lock_guard lock(mutex_);
    std::size_t all = 0;
    for (const auto& [name, named] : names_) {
        all += named.windows.size();
    }
    return all;
}

void add_rate_headers(
    const std::vector<request_rates::state>& states,
    std::vector<std::pair<std::string, std::string>>& headers
) {
    std::string policy;
    std::string limit;
    for (const request_rates::state& each : states) {
        const std::string start = (policy.empty() ? "\"" : ", \"") + std::string(each.name) + "\"";
        policy +=
            start + ";q=" + std::to_string(each.limit) + ";w=" + std::to_string(window_seconds);
        limit +=
            start + ";r=" + std::to_string(each.remaining) + ";t=" + std::to_string(each.reset);
    }
    if (!policy.empty()) {
        headers.emplace_back("RateLimit-Policy", std::move(policy));
        headers.emplace_back("RateLimit", std::move(limit));
    }
}

} // namespace agui::gateway
