#include "session/postgres/pg_clock.hpp"

#include <cstdlib>

namespace agui::session {

namespace {

// Clocks of a cluster differ by less, including the time that the answer takes. Then times are
// stored as given.
constexpr unix_ms same_clock = 60'000;

} // namespace

void pg_clock::note(unix_ms database_now) noexcept {
    const unix_ms lead = database_now - own_.now();
    lead_.store(std::abs(lead) < same_clock ? 0 : lead, std::memory_order_relaxed);
}

unix_ms pg_clock::shared(unix_ms moment) const noexcept {
    return moment == 0 ? 0 : moment + lead_.load(std::memory_order_relaxed);
}

} // namespace agui::session
