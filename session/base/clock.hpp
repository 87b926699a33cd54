#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace agui {

/// Milliseconds since the Unix epoch: the unit of every stored or sent timestamp.
using unix_ms = std::int64_t;

/// The time as ISO 8601 with milliseconds: `2026-11-28T14:37:03.250Z`. The year is between 0 and
/// 9999.
[[nodiscard]] std::string iso_time(unix_ms at);

/// Source of wall-clock time. Policy code takes a time as a parameter; only the edges hold a clock.
/// now() is safe to call from any thread.
class clock {
public:
    virtual ~clock() = default;
    [[nodiscard]] virtual unix_ms now() const = 0;
};

/// The machine's clock. The object lives as long as the program.
[[nodiscard]] const clock& system_clock();

/// A clock that stands still unless it is advanced; for tests and for replayed fixtures. advance()
/// must not run at the same time as any other call.
class manual_clock final : public clock {
public:
    explicit manual_clock(unix_ms start = 1'700'000'000'000) noexcept : now_(start) {}
    [[nodiscard]] unix_ms now() const override { return now_; }
    void advance(std::chrono::milliseconds by) noexcept { now_ += by.count(); }

private:
    unix_ms now_;
};

} // namespace agui
