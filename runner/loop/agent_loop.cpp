#include "runner/loop/agent_loop.hpp"

#include "runner/loop/agent_run.hpp"
#include "runner/loop/hooked_run.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"

#include <exception>
#include <memory>
#include <utility>

namespace agui::runner {

namespace {

// A stop that came before the run was over becomes its end reason. It does not replace
// store_unavailable.
stop_reason end_reason(stop_source& stop, stop_reason reason) noexcept {
    const std::optional<stop_reason> stopped = stop.close();
    return stopped && reason != stop_reason::store_unavailable ? *stopped : reason;
}

boost::asio::awaitable<void>
drive(std::unique_ptr<agent_run> run, std::string run_id, stop_source& stop, logger& log) {
    stop_reason reason = stop_reason::error;
    try {
        reason = co_await run->run();
        check_failpoint("loop.ending");
    } catch (const std::exception& error) {
        // An exception from a cancelled wait is not a failure.
        const log_level level = stop.requested() ? log_level::debug : log_level::error;
        log.log(level, "run failed", {{"run", run_id}, {"detail", error.what()}});
        if (!stop.requested()) {
            run->note(error.what());
        }
    }
    try {
        co_await run->finish(end_reason(stop, reason));
    } catch (const std::exception& error) {
        log.log(
            log_level::critical, "a run could not be ended",
            {{"run", run_id}, {"detail", error.what()}}
        );
    }
}

// Only runs that ask a model have plugins.
std::unique_ptr<agent_run> make_run(
    run_request request, loop_services services, run_sink& sink, stop_source& stop,
    memory_share memory
) {
    const bool asks = request.next == session::next_step::call_model || !request.approved.empty();
    if (asks && services.plugins != nullptr && !services.plugins->empty()) {
        return std::make_unique<hooked_run>(
            std::move(request), services, sink, stop, std::move(memory)
        );
    }
    return std::make_unique<agent_run>(std::move(request), services, sink, stop, std::move(memory));
}

} // namespace

boost::asio::awaitable<result<json_text>> run_sink::load_state() { co_return json_text(); }

boost::asio::awaitable<result<void>> run_sink::change_state(session::state_change /*change*/) {
    co_return failure{errc::not_found, "this run keeps no state"};
}

// The state of a run exists once, on the heap. As a coroutine's parameter and local it would exist
// twice while the model streams.
boost::asio::awaitable<void> run_agent(
    run_request request, loop_services services, run_sink& sink, stop_source& stop,
    memory_share memory
) {
    std::string run_id(session::client_run_id(request.run_id));
    return drive(
        make_run(std::move(request), services, sink, stop, std::move(memory)), std::move(run_id),
        stop, services.log
    );
}

} // namespace agui::runner
