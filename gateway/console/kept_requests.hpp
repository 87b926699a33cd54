#pragma once

#include "runner/provider/call_observer.hpp"
#include "session/base/clock.hpp"
#include "session/base/memory_budget.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// A request to a model server, as the console shows it.
struct kept_request {
    std::uint64_t number = 0; ///< From 1, in the order of sending.
    std::string principal;    ///< Owner of the thread.
    std::string thread_id;    ///< May be empty: the request for a title has none.
    std::string run_id;
    std::string model; ///< Name in [models].
    std::string asked; ///< The model that the request names.
    unix_ms at = 0;
    std::optional<unix_ms> ended_at = {};
    /// `active`, a finish reason, or the kind of a failure. Never a server's own words.
    std::string_view outcome = "active";
    std::optional<runner::token_usage> usage = {};
    std::size_t bytes = 0; ///< Size of the body as it was sent.
    /// The body without secrets; null if it was too large to keep.
    std::shared_ptr<const std::string> body = nullptr;
};

/// The last requests that this process sent to model servers, in memory only. Their bodies count
/// against the memory budget; if that has no room, the oldest requests are dropped. Safe to use
/// from any thread.
class kept_requests final : public runner::call_observer {
public:
    /// Some hours of one person's tests. A list of so many takes less than 100 KB to send.
    static constexpr std::size_t requests_max = 200;
    /// Limit for all bodies: the last hundred requests of a long conversation.
    static constexpr std::size_t bytes_max = 16U << 20U;
    static_assert(body_bytes_max <= bytes_max);

    /// `time` and `memory` must outlive this object; `memory` may be null.
    kept_requests(const clock& time, memory_budget* memory) : time_(time), memory_(memory) {}

    [[nodiscard]] std::uint64_t sending(
        const runner::model_request& request, std::size_t bytes, std::optional<std::string> body
    ) override;
    void ended(std::uint64_t call, const runner::model_outcome& outcome) override;

    /// The newest first; those of one thread if `thread_id` is not empty.
    [[nodiscard]] std::vector<kept_request> list(std::string_view thread_id) const;
    /// Nullopt if there is none, or no longer.
    [[nodiscard]] std::optional<kept_request> find(std::uint64_t number) const;

    /// Drops the requests of the thread.
    void forget_thread(const session::thread_key& thread);
    /// Drops the requests of all threads of the principal.
    void forget_principal(std::string_view principal);

private:
    template <class Predicate>
    void drop(Predicate is_meant);
    void drop_oldest() AGUI_REQUIRES(mutex_);

    const clock& time_;
    mutable mutex mutex_;
    memory_share memory_ AGUI_GUARDED_BY(mutex_);
    std::deque<kept_request> all_ AGUI_GUARDED_BY(mutex_); ///< The oldest first.
    std::size_t bytes_ AGUI_GUARDED_BY(mutex_) = 0;        ///< Of the bodies that are kept.
    std::uint64_t last_ AGUI_GUARDED_BY(mutex_) = 0;
};

} // namespace agui::gateway
