#pragma once

#include "session/base/clock.hpp"

#include <atomic>

namespace agui::session {

/// The database's clock, which decides about everything that several gateways share: a gateway with
/// a wrong clock must not drop data that others need. Safe to use from any thread.
class pg_clock {
public:
    /// `own` must outlive it.
    explicit pg_clock(const clock& own) noexcept : own_(own) {}

    [[nodiscard]] unix_ms own_now() const noexcept { return own_.now(); }
    /// Notes the database's time, read just now.
    void note(unix_ms database_now) noexcept;
    /// The database's time at a moment of this machine's clock. 0, which stands for none, stays 0.
    [[nodiscard]] unix_ms shared(unix_ms moment) const noexcept;

private:
    const clock& own_;
    std::atomic<unix_ms> lead_{0}; ///< Lead of the database's clock.
};

} // namespace agui::session
