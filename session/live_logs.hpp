#pragma once

#include "session/entry_chain.hpp"
#include "session/log_ring.hpp"
#include "session/store.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace agui::session {

/// The way of log entries past the store's queue: those of a run that is going on are durable as soon as
/// they are in the ring. Which may go there, so that every log stays in order: while entries of a run are
/// queued, those behind them are queued as well.
///
/// Everything but the last group may be called from any thread.
class live_logs {
public:
    /// Throws std::system_error (log_ring).
    live_logs(const std::string& path, std::uint64_t identity) : ring_(path, identity) {}

    /// A run has begun: its entries may come, from sequence 1.
    void open(std::int64_t run_number);
    /// It has ended.
    void close(std::int64_t run_number);

    enum class outcome {
        refused,        ///< To be queued; counts as hold().
        durable,
        durable_and_due ///< And it is time for the owner to take what has come together.
    };
    [[nodiscard]] outcome append(const log_slice& slice);

    /// Entries up to `sequence` are being queued.
    void hold(std::int64_t run_number, std::uint64_t sequence);
    /// What became of queued entries up to `sequence`.
    void settle(std::int64_t run_number, std::uint64_t sequence, bool durable);

    // The store's thread.

    [[nodiscard]] log_ring& ring() noexcept { return ring_; }
    /// The first entry of each run behind the place that is returned is encoded whole.
    [[nodiscard]] log_ring::place cut();

private:
    struct live_run {
        entry_chain chain;
        std::size_t chain_bytes = 0;
        std::uint64_t durable = 0;        ///< Last sequence that is.
        std::uint64_t queued_through = 0; ///< 0: nothing is queued.

        void restart() noexcept {
            chain.restart();
            chain_bytes = 0;
        }
    };

    std::mutex mutex_;
    std::unordered_map<std::int64_t, live_run> runs_;
    std::string encoded_;
    log_ring ring_; ///< append() with the mutex held.
};

} // namespace agui::session
