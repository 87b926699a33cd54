#pragma once

#include "runner/base/model_provider.hpp"
#include "session/base/clock.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// True if the failure says that the server is out of order: no connection, a 5xx, a timeout, a cut
/// or unreadable answer, an error in the stream. A 4xx, a stop and a lack of memory do not.
[[nodiscard]] bool is_outage(const model_failure& failed) noexcept;

/// Remembers whether a model answers, so that a run with several models asks a dead one last. It
/// refuses no call. It opens after as many outages in a row as its settings say; after a pause, one
/// call is its probe. The first answer to a call that began while it was open or half-open closes
/// it; that of the probe does as soon as it begins, but then one outage opens it again until an
/// answer is whole. Each change is one log line. Safe to use from any thread.
class model_circuit {
public:
    struct settings {
        std::string model = {};     ///< Its name, for the log.
        std::uint32_t failures = 5; ///< Outages in a row that open it; 0 switches it off.
        std::chrono::milliseconds window{60'000}; ///< Older outages do not count.
        std::chrono::milliseconds pause{30'000};  ///< From its opening to its probe.
    };
    enum class state { off, closed, open, half_open };
    struct status {
        state now = state::closed;
        std::size_t failures = 0; ///< Counted outages since the last answer.
    };

    /// One call of the model. If it is destroyed before answered() or failed(), it says nothing
    /// about the model.
    class call {
    public:
        call() = default; ///< Of a model without a circuit.
        call(call&& other) noexcept = default;
        call& operator=(call&& other) noexcept;
        ~call() { forget(); }

        /// False if another model should be asked before this one.
        [[nodiscard]] bool is_ready() const noexcept { return is_ready_; }
        /// A good answer has begun. It may still break off: then failed() is called.
        void begun();
        void answered();
        void failed(const model_failure& failure);

    private:
        friend class model_circuit;
        void forget() noexcept;

        std::shared_ptr<model_circuit> circuit_; ///< Null once the result is known.
        std::uint64_t era_ = 0;
        bool is_probe_ = false;
        bool is_ready_ = true;
    };

    /// `time` and `log` must outlive it.
    model_circuit(settings what, const clock& time, logger& log);
    model_circuit(const model_circuit&) = delete;
    model_circuit& operator=(const model_circuit&) = delete;

    /// A call that is about to begin. `self` is null for a model without a circuit.
    [[nodiscard]] static call begin(std::shared_ptr<model_circuit> self);
    [[nodiscard]] status now() const;

private:
    [[nodiscard]] bool enter(call& made);
    void on_begin(call& made);
    void on_answer(const call& made);
    void on_outage(const call& made);
    void on_nothing(const call& made) noexcept;
    void turn_to(state next) AGUI_REQUIRES(mutex_);
    void drop_old(unix_ms now) AGUI_REQUIRES(mutex_);
    void report(state changed_to) const;

    const settings settings_;
    const clock& time_;
    logger& log_;

    mutable mutex mutex_;
    state state_ AGUI_GUARDED_BY(mutex_);
    /// Counts openings and closings. A call says nothing about an era after the one of its begin.
    std::uint64_t era_ AGUI_GUARDED_BY(mutex_) = 0;
    unix_ms opened_ AGUI_GUARDED_BY(mutex_) = 0;
    bool is_probed_ AGUI_GUARDED_BY(mutex_) = false;        ///< A probe is under way.
    std::vector<unix_ms> failures_ AGUI_GUARDED_BY(mutex_); ///< At most settings_.failures.
};

[[nodiscard]] std::string_view to_string(model_circuit::state state) noexcept;

} // namespace agui::runner
