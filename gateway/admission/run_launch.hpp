#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/run/live_run.hpp"
#include "runner/loop/agent_loop.hpp"
#include "session/conversation/thread.hpp"

#include <memory>
#include <vector>

namespace agui::gateway {

/// Starts a run whose record is stored and which holds its thread. The registry keeps it until it
/// has ended; a stop of the request becomes a stop of the run. `missing`: as for live_run::start().
/// Throws if the run cannot start. Callers waiting for it have then been released, but it still
/// holds its thread. Called on the request's executor.
std::shared_ptr<live_run> launch_run(
    accepted_run::admitted& request, std::shared_ptr<event_log> log, session::run_record record,
    runner::run_request run, const std::vector<session::message>& missing,
    runner::model_provider& model
);

} // namespace agui::gateway
