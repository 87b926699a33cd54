#pragma once

#include "gateway/quota/quota_rules.hpp"
#include "gateway/quota/request_rates.hpp"
#include "gateway/quota/running_threads.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {

/// Applies the [[quotas]] to requests, runs and model calls. Requests and runs are counted in
/// memory: exactly, if this is the only gateway; otherwise each gateway grants its share, the limit
/// divided by the number of gateways and rounded up. Tokens and money are counted by the store,
/// before a model is asked. Safe to use from any thread.
class quotas {
public:
    /// The references must outlive it.
    quotas(std::vector<quota_rule> rules, session::store& store, const clock& time);
    quotas(const quotas&) = delete;
    quotas& operator=(const quotas&) = delete;

    // Requests.

    using time_point = request_rates::time_point;

    /// Counts a request by its address, before it is known who sends it.
    [[nodiscard]] std::vector<request_rates::state>
    count_request_from(std::string_view address, time_point now);
    /// Counts it by its principal and tenant.
    [[nodiscard]] std::vector<request_rates::state>
    count_request_of(std::string_view principal, time_point now);

    // Runs.

    struct run_claim {
        quota_party party;
        std::string thread; ///< Names the conversation among those of the principal.
        /// True for suggestions, which have as many places of their own.
        bool is_minor = false;
        bool keeps_thread = true; ///< False for a thread that is not stored.
        /// The least that the run's first model call will reserve.
        session::usage_amount first_call;
    };
    /// A place among the running threads, which the run holds until its end; null if none is
    /// counted. errc::quota_exceeded: a limit of runs, tokens, money or thread bytes is reached.
    /// The places are exact. Runs that begin at the same time may together exceed thread_bytes,
    /// each by the size of a thread.
    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<const void>>>
    admit_run(run_claim what);

    /// errc::quota_exceeded if the principal's threads have reached thread_bytes. For whatever else
    /// makes them larger than a run: attachments and a changed state.
    [[nodiscard]] boost::asio::awaitable<result<void>> check_bytes(std::string principal);

    /// `detached_runs` of the party in this gateway, by scope.
    [[nodiscard]] std::vector<std::pair<quota_scope, std::size_t>>
    detached_limits(const quota_party& party) const;

    // Model calls.

    /// A reserved call. Unless it is settled, it counts as reserved.
    struct reserved_call {
        std::vector<std::string> subjects; ///< Empty if nothing is counted.
        unix_ms at = 0;
        session::usage_amount amount;
    };
    /// Reserves before a model is asked; durable when it returns. errc::quota_exceeded,
    /// errc::store_unavailable.
    [[nodiscard]] boost::asio::awaitable<result<reserved_call>>
    reserve(quota_party party, session::usage_amount amount);
    /// Replaces the reservation by what was used.
    [[nodiscard]] boost::asio::awaitable<result<void>>
    settle(reserved_call call, session::usage_amount used);

    // Reports.

    /// The body of GET /agui/usage: the caller's own usage, with limits and the times at which they
    /// begin anew. Of its tenant it has the limits only.
    [[nodiscard]] boost::asio::awaitable<result<boost::json::object>> report(quota_party party);

    /// The number of gateways that share the limits of requests and runs; at least 1.
    void set_gateways(std::size_t count) noexcept { gateways_ = count < 1 ? 1 : count; }
    /// True if a limit depends on addresses, so that they must be known.
    [[nodiscard]] bool needs_addresses() const noexcept { return needs_addresses_; }

private:
    [[nodiscard]] std::uint32_t share_of(std::uint32_t limit) const noexcept;
    [[nodiscard]] std::vector<request_rates::state>
    count_request(std::vector<applied_quota> applied, time_point now);
    [[nodiscard]] result<std::shared_ptr<const void>>
    enter(const std::vector<applied_quota>& applied, const run_claim& what);
    [[nodiscard]] boost::asio::awaitable<result<void>>
    check_budget(const std::vector<applied_quota>& applied, session::usage_amount first_call);
    [[nodiscard]] boost::json::object
    report_of(const applied_quota& quota, const session::usage_reading& used, std::size_t index);

    const quota_rules rules_;
    session::store& store_;
    const clock& time_;
    const bool needs_addresses_;
    request_rates rates_;
    const std::shared_ptr<running_threads> running_ = std::make_shared<running_threads>();
    std::atomic<std::size_t> gateways_{1};
};

} // namespace agui::gateway
