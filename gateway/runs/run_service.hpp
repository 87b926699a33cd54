#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/run/peer_door.hpp"
#include "gateway/run/process_services.hpp"
#include "gateway/run/requested_run.hpp"
#include "gateway/run/run_core.hpp"
#include "gateway/run/run_settings.hpp"
#include "gateway/runs/attached_log.hpp"
#include "gateway/runs/history_recording.hpp"
#include "gateway/runs/peer_link.hpp"
#include "gateway/runs/steering.hpp"
#include "session/base/error.hpp"
#include "session/base/json_text.hpp"
#include "session/conversation/state_change.hpp"
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
#include <vector>

namespace agui::gateway {

/// Accepts requests, owns their runs until they have ended, and stops them on request or at a
/// drain. A run stays on the executor of the coroutine that accepted it. All functions may be
/// called from any thread.
class run_service {
public:
    run_service(process_services services, run_settings settings);
    /// Every run must have ended (drain).
    ~run_service();
    run_service(const run_service&) = delete;
    run_service& operator=(const run_service&) = delete;

    /// Accepts or refuses a request; checks agent, repeat, drain and `max_runs`, in that order. A
    /// request that repeats a runId with the same JSON gets that run's log (P6), and so does one
    /// that repeats an idempotency key, whatever its runId; with other JSON: errc::run_id_reused.
    /// Afterwards the head of the reply may be sent. Nothing is stored.
    [[nodiscard]] boost::asio::awaitable<result<accepted_run>> accept(requested_run what);

    /// Begins an accepted run, on the same executor: waits for the thread, recovers its orphans,
    /// reads it, plans (tools, history rule, size), stores the start of the run and starts it. Then
    /// RUN_STARTED is in its log. On failure nothing is stored, except that after
    /// errc::store_unavailable the thread may have an orphan. Does nothing for a repeat.
    [[nodiscard]] boost::asio::awaitable<result<void>> begin(accepted_run accepted);

    using attachment = attached_log;
    /// The log of a known run, to be read from the event after `after` on (P8): that of the segment
    /// which has it (session::run_segment), or of the next one if `after` is the last.
    /// errc::not_found: the thread has no such run. errc::cursor_expired: its events, or at least
    /// `after`, are gone, also because the run was lost meanwhile. Otherwise it fails as log_of()
    /// does. Completes once the log shows `after`, which another process may have shown before this
    /// one has it.
    [[nodiscard]] boost::asio::awaitable<result<attachment>>
    attach(session::thread_key key, std::string run_id, std::uint64_t after);

    using recording = history_recording;
    /// The thread as events (POST /agui/history), which name it by the input's threadId and have
    /// links under the key `links`. With forwardedProps.follow, the active run's own messages are
    /// only in its log. Nothing is stored, and the runId remains usable. An unknown
    /// thread counts as empty. errc::overloaded: there is not enough memory.
    [[nodiscard]] boost::asio::awaitable<result<recording>>
    history(session::thread_key key, const translator::run_input& input, session::thread_key links);

    /// Stops the thread's run and its requests: those with that runId, or all without one. A
    /// request counts from its first byte on: a run that is just beginning ends at once, and a
    /// request that waits for the thread is refused as if its wait had timed out. With an unknown
    /// runId, the stop also applies to a request that comes within a minute. Waits until all of
    /// these have ended, and returns true if one of the runs ended by a stop. A stop while the end
    /// of a run is being stored is too late: the run ends as it would have, and the result is
    /// false. On failure (errc::store_unavailable) only runs and requests of this process were
    /// certainly stopped.
    [[nodiscard]] boost::asio::awaitable<result<bool>>
    cancel(session::thread_key key, std::optional<std::string> run_id);

    /// Changes a thread's state document and returns the new one. A change goes through the run
    /// that holds the thread, whose readers are told of it; without a run, this process holds the
    /// thread for a moment. Failures: those of write_state(). errc::thread_busy: another process
    /// holds the thread (failure::gateway), or this one for too long.
    [[nodiscard]] boost::asio::awaitable<result<json_text>>
    change_state(session::thread_key key, session::state_change change);

    /// Removes the principal's conversations that are not stored (forwardedProps.ephemeral), after
    /// stopping their runs. Fails with errc::thread_busy if new runs begin for too long.
    [[nodiscard]] boost::asio::awaitable<result<void>> forget_ephemeral(std::string principal);

    /// gateway::steer().
    [[nodiscard]] boost::asio::awaitable<result<std::optional<steered_run>>>
    steer(steering what, std::chrono::steady_clock::time_point give_up);

    /// For each id of an approval, the id of the agent whose run asked for it; empty if that is
    /// unknown. With `ephemeral`, the thread is one that is not stored. Reads the whole thread.
    [[nodiscard]] boost::asio::awaitable<result<std::vector<std::string>>>
    agents_that_asked(session::thread_key key, bool ephemeral, std::vector<std::string> approvals);

    [[nodiscard]] const process_services& services() const noexcept;
    /// The id of the agent that answers a request which names none.
    [[nodiscard]] const std::string& default_agent() const noexcept;

    // For requests that another process has to answer.

    /// Returns false if no other process can be reached.
    [[nodiscard]] bool can_pass() const noexcept;
    /// peer_door::pass().
    [[nodiscard]] boost::asio::awaitable<result<client_answer>>
    pass(std::int64_t gateway, client_request request);
    /// The log of a run, or of a request that waits in the queue, of another process. That is
    /// `gateway` unless the run has ended or moved. Fails as attach() does.
    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>>
    follow(session::thread_key key, std::string run_id, std::int64_t gateway);

    // For other gateways, about runs and requests of this process.

    /// The log of a run, or of a request that waits in the queue. Null if neither is here, or if
    /// the run's number is not `run_number` (0 if unknown).
    [[nodiscard]] boost::asio::awaitable<std::shared_ptr<event_log>>
    find_here(session::thread_key key, std::string run_id, std::int64_t run_number);

    /// Like cancel() for everything received until `asked`. If `wish` is to supersede, stops only
    /// the active run.
    [[nodiscard]] boost::asio::awaitable<stopped_here> stop_here(
        session::thread_key key, std::optional<std::string> run_id, stop_wish wish,
        std::chrono::steady_clock::time_point asked
    );

    /// Returns the record of the run once it has ended. errc::not_found: the thread has no such
    /// run. errc::store_unavailable: also if its end could not be stored. Cancelling the caller
    /// does not end the wait.
    [[nodiscard]] boost::asio::awaitable<result<session::run_record>>
    wait_for_end(session::thread_key key, std::string run_id);

    /// Before the first accept(): recovers the orphans of an earlier process. At any time: recovers
    /// the orphans of other processes on the same store, and answers messages that they left in the
    /// queues of threads.
    [[nodiscard]] boost::asio::awaitable<void> recover();

    /// Refuses new runs from now on (errc::draining).
    void begin_drain();
    /// Refuses new runs and waits until all have ended. At `deadline` it stops the remaining ones
    /// (stop_reason::shutdown) and waits for them.
    [[nodiscard]] boost::asio::awaitable<void> drain(std::chrono::steady_clock::time_point deadline
    );

    [[nodiscard]] bool draining() const;
    /// One entry of active_runs().
    struct active_run {
        session::thread_key thread;
        bool ephemeral = false;
        std::string run_id;
        std::string agent_id;
        unix_ms started_at = 0;
        std::size_t readers = 0;
    };
    /// The runs that have begun and not ended, oldest first.
    [[nodiscard]] std::vector<active_run> active_runs() const;

private:
    const std::shared_ptr<run_core> core_;
    const std::unique_ptr<peer_link> peers_; ///< Null if no other process uses the store.
};

} // namespace agui::gateway
