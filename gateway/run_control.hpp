#pragma once

#include "gateway/routes/input_parser.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/base/error.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace agui::gateway {

/// What a program passes to start a run.
struct run_order {
    std::string input;                ///< RunAgentInput as JSON: the body of POST /agui.
    std::string agent_id = {};        ///< Empty: the default agent.
    std::string principal = {};       ///< As in session::thread_key.
    std::string idempotency_key = {}; ///< Empty: none.
};

/// The result of starting a run.
struct ordered_run {
    session::thread_key thread;
    std::string run_id;
    bool repeated = false; ///< Nothing was started: the request repeats that run (P6).
};

/// Runs of a server, started and stopped by the program that holds it, under the same rules as
/// those of clients: history, repeats, limits, busy threads, drain. All functions may be called
/// from any thread and awaited on any executor of the caller. While the server is not serving (see
/// server::start and server::request_stop) they return errc::draining.
class run_control {
public:
    /// All must outlive it.
    run_control(run_service& runs, input_parser& parser, memory_budget& memory) noexcept
        : runs_(runs), parser_(parser), memory_(memory) {}
    run_control(const run_control&) = delete;
    run_control& operator=(const run_control&) = delete;

    /// Starts a run. When it returns, the input is stored and the run goes on by itself: it needs
    /// no reader, and a client may attach to it. Failures as for POST /agui.
    [[nodiscard]] boost::asio::awaitable<result<ordered_run>> start(run_order order);

    /// Stops the thread's run, or the one with that id, like POST /agui/cancel. Returns true if the
    /// run ended by a stop.
    [[nodiscard]] boost::asio::awaitable<result<bool>>
    stop(session::thread_key thread, std::optional<std::string> run_id = std::nullopt);

    /// Returns the run's record once it has ended. errc::not_found. Cancelling the caller does not
    /// end the wait.
    [[nodiscard]] boost::asio::awaitable<result<session::run_record>>
    wait(session::thread_key thread, std::string run_id);

    /// The runs that have begun and not ended, oldest first.
    [[nodiscard]] std::vector<run_service::active_run> list() const { return runs_.active_runs(); }

    // For the server.

    /// From this call on, runs are started on these executors, in turn.
    void open(std::vector<boost::asio::any_io_executor> executors);
    /// Calls that are under way keep their executor's thread running until they have returned.
    void close();

private:
    /// Where a call runs; its thread does not end before the call has.
    struct place {
        boost::asio::any_io_executor executor;
        boost::asio::executor_work_guard<boost::asio::any_io_executor> work;
    };
    [[nodiscard]] std::optional<place> next_place(); ///< nullopt: closed.
    [[nodiscard]] boost::asio::awaitable<result<ordered_run>> start_here(run_order order);
    [[nodiscard]] boost::asio::awaitable<result<bool>>
    stop_here(session::thread_key thread, std::optional<std::string> run_id);

    template <class Value>
    [[nodiscard]] boost::asio::awaitable<result<Value>>
    on_server(boost::asio::awaitable<result<Value>> job);

    run_service& runs_;
    input_parser& parser_;
    memory_budget& memory_; ///< For inputs.
    mutex mutex_;
    /// Empty: closed.
    std::vector<boost::asio::any_io_executor> executors_ AGUI_GUARDED_BY(mutex_);
    std::size_t next_ AGUI_GUARDED_BY(mutex_) = 0;
};

} // namespace agui::gateway
