#include "gateway/quota/quotas.hpp"

#include "gateway/quota/model_price.hpp"
#include "session/base/failpoint.hpp"

#include <algorithm>
#include <optional>

namespace agui::gateway {

namespace asio = boost::asio;
using session::usage_amount;
using session::usage_limits;
using session::usage_period;

namespace {

// A run ends sooner or later; nobody knows when.
constexpr std::int64_t retry_of_runs = 2;

std::int64_t seconds_until(unix_ms then, unix_ms now) noexcept {
    constexpr std::int64_t second = 1000;
    return std::max<std::int64_t>((then - now + second - 1) / second, 1);
}

failure budget_is_used_up(quota_scope scope, usage_period period, unix_ms at) {
    const std::string of = period == usage_period::day ? "day" : "month";
    failure why{
        errc::quota_exceeded,
        "the tokens or the money of this " + of + " are used up (quotas, per " +
            std::string(to_string(scope)) + ")",
        {},
        {}
    };
    why.retry_after = seconds_until(session::end_of_period(at, period), at);
    return why;
}

// A refusal names no limit: the sender of a request may not be the thread's owner, whose limit it
// is.
failure too_many_runs(quota_scope scope) {
    failure why{
        errc::quota_exceeded,
        "no more runs at once are allowed (quotas, per " + std::string(to_string(scope)) + ")",
        {},
        {}
    };
    why.retry_after = retry_of_runs;
    return why;
}

failure too_many_bytes() {
    return {
        errc::quota_exceeded,
        "the threads of this owner are as large as they may be (quotas.thread_bytes): delete some "
        "of them",
        {},
        {}
    };
}

bool has_budget(const quota_limits& limits) noexcept {
    return limits.day.any() || limits.month.any();
}

// An address is a person's data, so it is stored only for a limit.
bool is_counted(const applied_quota& quota) noexcept {
    return quota.per != quota_scope::address || has_budget(*quota.limits);
}

boost::json::object report_of_tokens(std::int64_t used, const std::optional<std::int64_t>& limit) {
    boost::json::object made{{"used", used}};
    if (limit) {
        made["limit"] = *limit;
    }
    return made;
}

boost::json::object limits_of_period(const usage_limits& limits, unix_ms resets_at) {
    boost::json::object made;
    if (limits.input_tokens) {
        made["inputTokens"] = {{"limit", *limits.input_tokens}};
    }
    if (limits.output_tokens) {
        made["outputTokens"] = {{"limit", *limits.output_tokens}};
    }
    if (limits.micro_cost) {
        made["cost"] = {{"limit", money_text(*limits.micro_cost)}};
    }
    made["resetsAt"] = resets_at;
    return made;
}

boost::json::object
report_of_period(const usage_amount& used, const usage_limits& limits, unix_ms resets_at) {
    boost::json::object cost{{"used", money_text(used.micro_cost)}};
    if (limits.micro_cost) {
        cost["limit"] = money_text(*limits.micro_cost);
    }
    return {
        {"inputTokens", report_of_tokens(used.input_tokens, limits.input_tokens)},
        {"outputTokens", report_of_tokens(used.output_tokens, limits.output_tokens)},
        {"cost", std::move(cost)},
        {"resetsAt", resets_at}
    };
}

} // namespace

quotas::quotas(std::vector<quota_rule> rules, session::store& store, const clock& time)
    : rules_(std::move(rules)),
      store_(store),
      time_(time),
      needs_addresses_(rules_.has(quota_scope::address)) {}

std::uint32_t quotas::share_of(std::uint32_t limit) const noexcept {
    const auto gateways = static_cast<std::uint32_t>(gateways_.load());
    return limit / gateways + (limit % gateways > 0 ? 1 : 0);
}

std::vector<request_rates::state>
quotas::count_request(std::vector<applied_quota> applied, time_point now) {
    std::vector<request_rates::claim> claims;
    for (applied_quota& each : applied) {
        if (each.limits->requests_per_minute > 0) {
            claims.push_back(
                {to_string(each.per), std::move(each.subject),
                 share_of(each.limits->requests_per_minute)}
            );
        }
    }
    return claims.empty() ? std::vector<request_rates::state>() : rates_.add(claims, now);
}

std::vector<request_rates::state>
quotas::count_request_from(std::string_view address, time_point now) {
    auto applied = rules_.of(quota_scope::address, {{}, address});
    if (!applied) {
        return {};
    }
    std::vector<applied_quota> one;
    one.push_back(std::move(*applied));
    return count_request(std::move(one), now);
}

std::vector<request_rates::state>
quotas::count_request_of(std::string_view principal, time_point now) {
    return count_request(rules_.of({principal, {}}), now);
}

result<std::shared_ptr<const void>>
quotas::enter(const std::vector<applied_quota>& applied, const run_claim& what) {
    std::vector<running_threads::claim> claims;
    for (const applied_quota& each : applied) {
        std::string subject = each.subject;
        if (what.is_minor) {
            subject += " suggestions"; // They have places of their own, as many.
        }
        claims.push_back({std::move(subject), share_of(each.limits->runs)});
    }
    // A thread's name is unique only among those of its principal, and a thread that is not stored
    // may have the name of one that is.
    std::string thread = std::to_string(what.party.principal.size());
    thread += what.keeps_thread ? ' ' : '~';
    thread.append(what.party.principal).append(what.thread);
    running_threads::entered entered = running_->enter(std::move(claims), thread);
    if (entered.refused) {
        return too_many_runs(applied[*entered.refused].per);
    }
    return std::move(entered.place);
}

asio::awaitable<result<void>>
quotas::check_budget(const std::vector<applied_quota>& applied, usage_amount first_call) {
    std::vector<std::string> subjects;
    std::vector<const applied_quota*> limited;
    for (const applied_quota& each : applied) {
        if (has_budget(*each.limits)) {
            subjects.push_back(each.subject);
            limited.push_back(&each);
        }
    }
    if (subjects.empty()) {
        co_return result<void>();
    }
    const auto used = co_await store_.read_usage(std::move(subjects), time_.now());
    if (!used) {
        co_return used.error();
    }
    for (std::size_t i = 0; i < limited.size(); ++i) {
        const quota_limits& limits = *limited[i]->limits;
        if (!limits.month.allow(used->subjects[i].month, first_call)) {
            co_return budget_is_used_up(limited[i]->per, usage_period::month, used->at);
        }
        if (!limits.day.allow(used->subjects[i].day, first_call)) {
            co_return budget_is_used_up(limited[i]->per, usage_period::day, used->at);
        }
    }
    co_return result<void>();
}

asio::awaitable<result<void>> quotas::check_bytes(std::string principal) {
    const std::vector<applied_quota> applied = rules_.of({principal, {}});
    const auto own = std::ranges::find(applied, quota_scope::principal, &applied_quota::per);
    if (own == applied.end() || own->limits->thread_bytes == 0) {
        co_return result<void>();
    }
    const std::uint64_t limit = own->limits->thread_bytes;
    const auto bytes = co_await store_.bytes_of_principal(std::move(principal));
    if (!bytes) {
        co_return bytes.error();
    }
    if (*bytes >= limit) {
        co_return too_many_bytes();
    }
    co_return result<void>();
}

asio::awaitable<result<std::shared_ptr<const void>>> quotas::admit_run(run_claim what) {
    const std::vector<applied_quota> applied = rules_.of(what.party);
    auto place = enter(applied, what);
    if (!place) {
        co_return place.error();
    }
    const auto within_budget = co_await check_budget(applied, what.first_call);
    if (!within_budget) {
        co_return within_budget.error();
    }
    if (what.keeps_thread) {
        const auto has_room = co_await check_bytes(std::string(what.party.principal));
        if (!has_room) {
            co_return has_room.error();
        }
    }
    co_return std::move(*place);
}

std::vector<std::pair<quota_scope, std::size_t>> quotas::detached_limits(const quota_party& party
) const {
    std::vector<std::pair<quota_scope, std::size_t>> limits;
    for (const applied_quota& each : rules_.of(party)) {
        if (each.limits->detached_runs > 0) {
            limits.emplace_back(each.per, share_of(each.limits->detached_runs));
        }
    }
    return limits;
}

asio::awaitable<result<quotas::reserved_call>>
quotas::reserve(quota_party party, usage_amount amount) {
    std::vector<session::usage_claim> claims;
    std::vector<quota_scope> scopes;
    reserved_call call;
    for (const applied_quota& each : rules_.of(party)) {
        if (is_counted(each)) {
            claims.push_back({each.subject, each.limits->day, each.limits->month});
            scopes.push_back(each.per);
            call.subjects.push_back(each.subject);
        }
    }
    if (claims.empty()) {
        co_return call;
    }
    check_failpoint("quota.reserve");
    const auto reserved = co_await store_.reserve_usage(std::move(claims), amount, time_.now());
    if (!reserved) {
        co_return reserved.error();
    }
    check_failpoint("quota.reserved");
    if (const auto& refused = reserved->refused) {
        co_return budget_is_used_up(scopes[refused->claim], refused->period, reserved->at);
    }
    call.at = reserved->at;
    call.amount = amount;
    co_return call;
}

asio::awaitable<result<void>> quotas::settle(reserved_call call, usage_amount used) {
    if (call.subjects.empty() || call.amount == used) {
        co_return result<void>();
    }
    check_failpoint("quota.settle");
    co_return co_await store_.settle_usage({std::move(call.subjects), call.at, call.amount, used});
}

boost::json::object quotas::report_of(
    const applied_quota& quota, const session::usage_reading& used, std::size_t index
) {
    const quota_limits& limits = *quota.limits;
    const unix_ms day_ends = session::end_of_period(used.at, usage_period::day);
    const unix_ms month_ends = session::end_of_period(used.at, usage_period::month);
    boost::json::object made{{"per", to_string(quota.per)}};
    const bool is_own = quota.per != quota_scope::tenant;
    if (is_own && is_counted(quota)) {
        const session::subject_usage& own = used.subjects[index];
        made["day"] = report_of_period(own.day, limits.day, day_ends);
        made["month"] = report_of_period(own.month, limits.month, month_ends);
    } else if (has_budget(limits)) {
        made["day"] = limits_of_period(limits.day, day_ends);
        made["month"] = limits_of_period(limits.month, month_ends);
    }
    if (limits.requests_per_minute > 0) {
        const std::uint32_t share = share_of(limits.requests_per_minute);
        made["requestsPerMinute"] = {{"limit", share}};
        if (is_own) {
            const auto rate = rates_.look(
                {to_string(quota.per), quota.subject, share}, std::chrono::steady_clock::now()
            );
            made["requestsPerMinute"].as_object()["remaining"] = rate.remaining;
        }
    }
    if (limits.runs > 0) {
        made["runs"] = {{"limit", share_of(limits.runs)}};
        if (is_own) {
            made["runs"].as_object()["active"] = running_->count(quota.subject);
        }
    }
    if (limits.detached_runs > 0) {
        made["detachedRuns"] = {{"limit", share_of(limits.detached_runs)}};
    }
    if (limits.thread_bytes > 0) {
        made["threadBytes"] = {{"limit", limits.thread_bytes}};
    }
    return made;
}

asio::awaitable<result<boost::json::object>> quotas::report(quota_party party) {
    const std::vector<applied_quota> applied = rules_.of(party);
    std::vector<std::string> subjects;
    subjects.reserve(applied.size());
    for (const applied_quota& each : applied) {
        subjects.push_back(each.subject);
    }
    const auto used = co_await store_.read_usage(std::move(subjects), time_.now());
    if (!used) {
        co_return used.error();
    }
    boost::json::array all;
    for (std::size_t i = 0; i < applied.size(); ++i) {
        boost::json::object made = report_of(applied[i], *used, i);
        if (made.contains("threadBytes")) {
            const auto bytes = co_await store_.bytes_of_principal(std::string(party.principal));
            if (!bytes) {
                co_return bytes.error();
            }
            made["threadBytes"].as_object()["used"] = *bytes;
        }
        all.push_back(std::move(made));
    }
    co_return boost::json::object{{"at", used->at}, {"quotas", std::move(all)}};
}

} // namespace agui::gateway
