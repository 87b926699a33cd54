#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/runs/run_service.hpp"
#include "translator/input/run_input.hpp"

namespace agui::gateway {

/// POST /agui/history: the thread as an event stream (design section 5), from a RunAgentInput whose
/// messages are not looked at. forwardedProps.follow goes on with the run under way. `runs` and
/// `parser` outlive the handler.
[[nodiscard]] http_handler make_history_route(run_service& runs, input_parser& parser);

} // namespace agui::gateway
