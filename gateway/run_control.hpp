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

/// A program's request to start a run.
struct run_order {
    std::string input;                ///< RunAgentInput as JSON: the body of POST /agui.
    std::string agent_id = {};        ///< Empty for the default agent.
    std::string principal = {};       ///< See session::thread_key.
    std::string idempotency_key = {}; ///< May be empty.
};

/// The result of starting a run.
struct ordered_run {
    session::thread_key thread;
    std::string run_id;
    bool repeated = false; ///< Nothing was started: the request repeats that run (P6).
};

/// Lets a program that embeds a server start and stop runs, under the same rules as clients:
/// history, repeats, limits, busy threads, drain. All functions may be called from any thread and
/// awaited on any executor of the caller. While the server is not serving (see server::start and
/// server::request_stop) they return errc::draining.
class run_control {
public:
    /// All must outlive it.
    run_control(run_service& runs, input_parser& parser, memory_budget& memory) noexcept
        : runs_(runs), parser_(parser), memory_(memory) {}
    run_control(const run_control&) = delete;
    run_control& operator=(const run_control&) = delete;

    /// Starts a run. When it returns, the input is stored and the run continues by itself. It needs
    /// no reader, and a client may attach to it. Failures as for POST /agui.
    [[nodiscard]] boost::asio::awaitable<result<ordered_run>> start(run_order order);

    /// Stops the thread's run, or the one with that id, like POST /agui/cancel. Returns true if the
    /// run ended by a stop.
    [[nodiscard]] boost::asio::awaitable<result<bool>>
    stop(session::thread_key thread, std::optional<std::string> run_id = std::nullopt);

    /// Returns the run's record once it has ended. errc::not_found: there is no such run.
    /// Cancelling the caller does not end the wait.
    [[nodiscard]] boost::asio::awaitable<result<session::run_record>>
    wait(session::thread_key thread, std::string run_id);

    /// The runs that have begun and not ended, oldest first.
    [[nodiscard]] std::vector<run_service::active_run> list() const { return runs_.active_runs(); }

    // For the server.

    /// Starts accepting calls, whose runs are started on these executors in turn.
    void open(std::vector<boost::asio::any_io_executor> executors);
    /// Stops accepting calls. Calls in progress keep their executor's thread running until they
    /// have returned.
    void close();

private:
    /// Where a call runs. Its thread stays until the call has ended.
    struct place {
        boost::asio::any_io_executor executor;
        boost::asio::executor_work_guard<boost::asio::any_io_executor> work;
    };
    [[nodiscard]] std::optional<place> next_place(); ///< nullopt if closed.
    [[nodiscard]] boost::asio::awaitable<result<ordered_run>> start_here(run_order order);
    [[nodiscard]] boost::asio::awaitable<result<bool>>
    stop_here(session::thread_key thread, std::optional<std::string> run_id);

    template <class Value>
    [[nodiscard]] boost::asio::awaitable<result<Value>>
    on_server(boost::asio::awaitable<result<Value>> job);

    run_service& runs_;
    input_parser& parser_;
    memory_budget& memory_; ///< Budget for inputs.
    mutex mutex_;
    /// Empty if closed.
    std::vector<boost::asio::any_io_executor> executors_ AGUI_GUARDED_BY(mutex_);
    std::size_t next_ AGUI_GUARDED_BY(mutex_) = 0;
};

} // namespace agui::gateway
