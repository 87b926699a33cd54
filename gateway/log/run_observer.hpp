#pragma once

#include "session/base/log.hpp"
#include "session/conversation/thread.hpp"
#include "translator/agui/agui_translator.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// One event of a run. References and views are valid during the call only.
struct observed_event {
    const session::thread_key& thread;
    const session::run_record& run; ///< The record from the run's beginning.
    std::uint64_t sequence = 0;     ///< Its number in the run, from 1; 0 if it could not be stored.
    std::string_view json;          ///< The event in the form of AG-UI 1.1.
    bool terminal = false;          ///< The last event of the run.
};

/// Gets each event of each run, in order, on the run's executor, as soon as the event is made,
/// which may be before readers see it. The terminal event is reported once the run's end is stored.
/// Must not block, because the run waits for it. Exceptions are logged and otherwise ignored. Runs
/// left by an earlier process are not reported. Runs on different threads call it concurrently.
using run_observer = std::function<void(const observed_event&)>;

/// Passes on a run's events after number `sequence` and reports them to an observer. Used on the
/// run's executor. The referenced arguments must outlive it.
class observed_sink final : public translator::wire_sink {
public:
    observed_sink(
        translator::wire_sink& next, const run_observer& observer,
        const session::thread_key& thread, const session::run_record& run, logger& log,
        std::uint64_t sequence = 0
    )
        : next_(next),
          observer_(observer),
          thread_(thread),
          run_(run),
          log_(log),
          sequence_(sequence) {}

    void on_event(const translator::wire_event& event) override;

    /// To be called once the terminal event is stored.
    void report_end();
    /// To be called instead if it could not be stored. `events` are the ones that readers get in
    /// its place, or would get if the run were not lost to another process.
    void report_end_without_store(const std::vector<std::string>& events);

private:
    void report(std::uint64_t sequence, std::string_view json, bool terminal);

    translator::wire_sink& next_;
    const run_observer& observer_;
    const session::thread_key& thread_;
    const session::run_record& run_;
    logger& log_;
    std::uint64_t sequence_; ///< Number of the last event.
    std::string terminal_;
};

} // namespace agui::gateway
