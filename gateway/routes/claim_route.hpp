#pragma once

#include "gateway/http/router.hpp"
#include "session/base/clock.hpp"
#include "session/store/store.hpp"

#include <vector>

namespace agui::gateway {

/// POST /agui/threads/{threadId}/calls/{callId}/claim `{"holder"}`: a client says that it executes
/// the call, so that the user's other tabs do not. The claim lasts 30 s, and the same holder renews
/// it with the same request. 200 `{"toolCallId", "holder", "claimedUntil"}`; 409 `claimed` while
/// another holder's claim is valid; 404 if no such call waits for an answer, which calls that wait
/// for an approval do not. It binds no client: the first answer counts, whoever sends it.
///
/// DELETE with the same body gives the claim up: 204, also if the call has no valid claim; the same
/// 409 and 404. `store` and `time` must outlive the handlers.
[[nodiscard]] std::vector<route> make_claim_routes(session::store& store, const clock& time);

} // namespace agui::gateway
