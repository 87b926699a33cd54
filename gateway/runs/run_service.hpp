#pragma once

#include "gateway/runs/accepted_run.hpp"
#include "gateway/runs/event_log.hpp"
#include "gateway/runs/process_services.hpp"
#include "gateway/runs/requested_run.hpp"
#include "gateway/runs/run_core.hpp"
#include "gateway/runs/run_settings.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"
#include "translator/agui/protocol_version.hpp"
#include "translator/input/run_input.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace agui::gateway {

/// Admits runs, owns them until they have ended, and ends them (stop, timeout, drain). A run lives
/// on the executor of the coroutine that accepted it. All functions may be called from any thread.
class run_service {
public:
    run_service(process_services services, run_settings settings);
    ~run_service(); ///< Every run must have ended: see drain().
    run_service(const run_service&) = delete;
    run_service& operator=(const run_service&) = delete;

    /// Lets a request in, or says why not: agent, a repeat, drain, `max_runs`, in that order. A
    /// repeat of a known runId gets that run's log (P6); so does a request that repeats an
    /// idempotency key with the same JSON, whatever its runId. From here on the head of the reply
    /// could leave. Nothing is stored.
    [[nodiscard]] boost::asio::awaitable<result<accepted_run>> accept(requested_run what);

    /// Begins what was accepted, on the same executor: waits for the thread, recovers its orphans,
    /// loads and plans (tools, history rule, size), stores the beginning of the run and lets it go.
    /// RUN_STARTED is in its log then. On failure nothing is stored; only after
    /// errc::store_unavailable the thread may have an orphan.
    [[nodiscard]] boost::asio::awaitable<result<void>> begin(accepted_run accepted);

    struct attachment {
        std::shared_ptr<event_log> log;
        translator::projection projection; ///< Of the request that began the run.
    };
    /// The log of a run that is known, to be read from the event after `after` on (P8).
    /// errc::not_found, cursor_expired, bad_cursor.
    [[nodiscard]] boost::asio::awaitable<result<attachment>>
    attach(session::thread_key key, std::string run_id, std::uint64_t after);

    struct recording {
        std::shared_ptr<event_log>
            log; ///< RUN_STARTED to RUN_FINISHED, around snapshots of the thread.
        std::shared_ptr<event_log>
            live; ///< Of the thread's run under way, if it was asked for and there is one.
    };
    /// The thread as events (POST /agui/history). With forwardedProps.follow, what the live run
    /// itself has said is left to its log. Nothing is stored, no runId is taken; an unknown thread
    /// is an empty one.
    [[nodiscard]] boost::asio::awaitable<result<recording>>
    history(std::string principal, const translator::run_input& input);

    /// Stops the thread's run and the requests on their way to one: those of that runId, or all if
    /// none is given. A request counts from its first byte on: what is begun is ended at once then,
    /// and one that waits for the thread is refused as if it had waited in vain. With a runId that
    /// is not known, also if the request comes within a minute. True if a run addressed ended by a
    /// stop; returns once the thread is free. A stop that comes while a run's terminal is being
    /// stored comes too late: the answer is false, the run ends as it had.
    [[nodiscard]] boost::asio::awaitable<bool>
    cancel(session::thread_key key, std::optional<std::string> run_id);

    /// Recovers the orphans that a former process left. Before the first accept().
    [[nodiscard]] boost::asio::awaitable<void> recover();

    /// Refuses new runs from now on (errc::draining).
    void begin_drain();
    /// Waits until all runs have ended, at most until `deadline`; then ends the rest with
    /// `shutdown` and waits for them.
    [[nodiscard]] boost::asio::awaitable<void> drain(std::chrono::steady_clock::time_point deadline
    );

    [[nodiscard]] bool draining() const;
    [[nodiscard]] std::size_t active_runs() const;

private:
    const std::shared_ptr<run_core> core_;
};

} // namespace agui::gateway
