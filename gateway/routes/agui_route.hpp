#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/routes/begin_anywhere.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/runs/run_service.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/asio/awaitable.hpp>

#include <string>
#include <variant>
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

/// What these routes use. The references must outlive all requests.
struct run_route {
    run_service& runs;
    input_parser& parser;
    std::vector<std::string> passed_headers;
    bool is_for_suggestions = false;
};

/// Begins the run that a request for one of these routes asks for, or finds it, as begin_anywhere()
/// does. `projection` becomes that of the request. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<std::variant<begun_anywhere, failure, http_reply>>
begin_agui_run(const run_route& route, http_request& request, translator::projection& projection);

} // namespace agui::gateway
