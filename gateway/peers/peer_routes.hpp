#pragma once

#include "gateway/http/router.hpp"
#include "gateway/peers/peer_streams.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/store/store.hpp"

#include <vector>

namespace agui::gateway {

/// Services of the peer routes. The referenced objects must outlive the routes.
struct peer_services {
    run_service& runs;
    const session::store& store;
    peer_streams& streams;
    const router& routes; ///< This process's routes; may be made after the peer routes.
};

/// Routes for other gateways on the store (peer_request.hpp). A request for a number that is not
/// this process's is refused with 421. Passed client requests are served only if their route is
/// passable (route::passable).
[[nodiscard]] std::vector<route> make_peer_routes(peer_services services);

} // namespace agui::gateway
