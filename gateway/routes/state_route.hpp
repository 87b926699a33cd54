#pragma once

#include "gateway/http/router.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/runs/run_service.hpp"

namespace agui::gateway {

/// PATCH /agui/threads/{threadId}/state: changes the thread's state document. As application/json,
/// the body, any JSON value, replaces it; `null` removes it. As application/json-patch+json, the
/// body is applied to the stored document (RFC 6902), wholly or not at all. Readers of an active
/// run are told of the change. Answers 200 with the state, as GET does; 404 if the principal has no
/// such thread; 409 with the path of an operation that does not apply; 413 if the thread would
/// exceed `max_thread_bytes` and the new state is larger than the old one; 422 for a malformed
/// patch or too large a document. Another gateway that holds the thread carries it out. Both
/// arguments must outlive the handler.
[[nodiscard]] route make_state_route(run_service& runs, input_parser& parser);

} // namespace agui::gateway
