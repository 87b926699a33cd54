#pragma once

#include "gateway/runs/event_log.hpp"
#include "gateway/runs/process_services.hpp"
#include "gateway/runs/run_settings.hpp"
#include "session/store/store.hpp"
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
/// on the executor of the coroutine that started it. All functions may be called from any thread.
class run_service {
public:
    run_service(process_services services, run_settings settings);
    ~run_service(); ///< Every run must have ended: see drain().
    run_service(const run_service&) = delete;
    run_service& operator=(const run_service&) = delete;

    struct request {
        std::string principal;
        std::string agent_id; ///< Empty: the default agent.
        translator::run_input input;
        std::string digest;         ///< input_digest() of its canonical form; empty: made of that.
        std::size_t body_bytes = 0; ///< Of the request; what it adds to its thread, about.
        memory_share memory;        ///< What the input takes; held until the run has begun.
        std::optional<disconnect_policy> on_disconnect;        ///< Of the header X-On-Disconnect.
        std::optional<session::client_history> client_history; ///< Of the header X-Client-History.
        std::string idempotency_key; ///< Of the header Idempotency-Key; empty: none.
        /// When its first byte came: a stop of the whole thread that was later is meant for it.
        std::chrono::steady_clock::time_point received = std::chrono::steady_clock::now();
    };

    /// Admission: agent, tools, thread lease, history rule, and the start of the run, in that
    /// order. On success the run is under way and RUN_STARTED is in its log. A repeat of a known
    /// runId attaches to that run's log (P6); so does a request that repeats an idempotency key
    /// with the same JSON, whatever its runId. Nothing is stored on failure.
    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>> start(request what);

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

    /// Ends what a former process left active. Before the first start().
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
    struct shared;
    std::shared_ptr<shared> shared_;
};

} // namespace agui::gateway
