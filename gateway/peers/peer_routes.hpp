#pragma once

#include "gateway/http/router.hpp"
#include "gateway/peers/peer_streams.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/store/store.hpp"

#include <vector>

namespace agui::gateway {

/// What peer routes need. What the references name must outlive the routes.
struct peer_services {
    run_service& runs;
    const session::store& store;
    peer_streams& streams;
    const router& routes; ///< Of this process: may be made later than the peer routes.
};

/// What other gateways on the store may ask for (peer_request.hpp). A request for another number
/// than this process has is refused with 421; of a client's requests only those for routes that may
/// be passed are carried out (route::passable).
[[nodiscard]] std::vector<route> make_peer_routes(peer_services services);

} // namespace agui::gateway
