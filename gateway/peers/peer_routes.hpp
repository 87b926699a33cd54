#pragma once

#include "gateway/http/router.hpp"
#include "gateway/peers/peer_streams.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/store/store.hpp"

#include <vector>

namespace agui::gateway {

/// What other gateways on the store may ask for (peer_request.hpp). A request for another number
/// than this process has is refused with 421. The arguments must outlive the routes.
[[nodiscard]] std::vector<route>
make_peer_routes(run_service& runs, const session::store& store, peer_streams& streams);

} // namespace agui::gateway
