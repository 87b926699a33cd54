#pragma once

#include "gateway/audit/audit_log.hpp"
#include "gateway/http/router.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/store/store.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// What the routes of the control socket use. All references must outlive the routes.
struct control_parts {
    session::store& store;
    run_service& runs;
    audit_log* audit = nullptr; ///< May be null.
    /// Drops what this process keeps of a thread outside of the store. May be empty.
    std::function<void(std::string_view thread_id)> forget_thread;
};

/// The routes of the control socket (gateway/control/README.md). Callers need scope::admin, which
/// every peer of the socket has.
[[nodiscard]] std::vector<route> make_control_routes(control_parts parts);

} // namespace agui::gateway
