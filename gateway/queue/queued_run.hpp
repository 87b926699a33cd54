#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "gateway/run/run_queue.hpp"

#include <memory>

namespace agui::gateway {

/// Begins the wait of a request whose messages are in the queue (queue_entry.hpp), and which the
/// registry's run_queue has as `waiting`: writes RUN_STARTED into its log, and later the log's end.
/// Called on the request's executor; does not wait.
void start_queued_run(
    std::unique_ptr<accepted_run::admitted>&& request, std::shared_ptr<waiting_run> waiting
);

} // namespace agui::gateway
