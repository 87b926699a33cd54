#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/runs/run_service.hpp"

namespace agui::gateway {

/// POST /agui/steer {"threadId","runId"?,"message"}: gives a user message to the active run.
/// Answers once that has stored it for its next request to a model: {"taken":true,"runId","seq"};
/// or 409 run_ended, and nothing was stored. A repeat with the same message id gets the same
/// answer. Both must outlive it.
[[nodiscard]] http_handler make_steer_route(run_service& runs, input_parser& parser);

} // namespace agui::gateway
