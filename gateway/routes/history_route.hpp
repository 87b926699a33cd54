#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/runs/run_service.hpp"
#include "translator/input/run_input.hpp"

namespace agui::gateway {

/// POST /agui/history: the thread as an event stream. The body is a RunAgentInput, whose messages
/// are ignored. With forwardedProps.follow, the stream continues with the events of the active run.
/// `runs` and `parser` must outlive the handler.
[[nodiscard]] http_handler make_history_route(run_service& runs, input_parser& parser);

/// The same, always with the active run.
[[nodiscard]] http_handler make_following_route(run_service& runs, input_parser& parser);

} // namespace agui::gateway
