#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/runs/run_service.hpp"
#include "translator/input/run_input.hpp"

#include <string>
#include <vector>

namespace agui::gateway {

/// POST /agui and POST /agui/agents/{agentId}: starts a run, or attaches to the one that the
/// request repeats, and answers with its events. Headers: X-On-Disconnect (`continue`, `cancel`,
/// `grace:SECONDS`) chooses what happens to the run when its last reader leaves; X-Client-History
/// (`auto`, `full`, `delta`) says how much of the history the client sends; Idempotency-Key is a
/// second name of the request besides its runId. The tools of the run may be passed the headers
/// that `passed_headers` names, in lower case, each of at most 4 KB. `runs` and `parser` must
/// outlive the handler.
[[nodiscard]] http_handler make_agui_route(
    run_service& runs, input_parser& parser, std::vector<std::string> passed_headers = {}
);

/// The same for requests for suggestions (run_input::is_for_suggestions) alone; all others are
/// errc::invalid_input.
[[nodiscard]] http_handler make_suggestions_route(
    run_service& runs, input_parser& parser, std::vector<std::string> passed_headers = {}
);

} // namespace agui::gateway
