#pragma once

#include "gateway/runs/accepted_run.hpp"
#include "gateway/runs/event_log.hpp"
#include "runner/loop/agent_loop.hpp"
#include "session/conversation/thread.hpp"

#include <memory>

namespace agui::gateway {

/// Starts a run whose record is stored and that holds its thread. The registry has it until it has
/// ended; a stop of the request becomes a stop of the run. Throws if it cannot start: then nobody
/// waits for it, and the caller still holds the thread. Called on the request's executor.
void launch_run(
    accepted_run::admitted& request, std::shared_ptr<event_log> log, session::run_record record,
    runner::run_request run, runner::model_provider& model
);

} // namespace agui::gateway
