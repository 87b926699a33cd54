#pragma once

#include "gateway/audit/audit_log.hpp"
#include "gateway/http/router.hpp"
#include "gateway/runs/run_service.hpp"
#include "gateway/runs/thread_removal.hpp"
#include "session/base/clock.hpp"
#include "session/store/store.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// The services that the routes of the control socket use. All references must outlive the routes.
struct control_parts {
    session::store& store;
    run_service& runs;
    const clock& time;
    audit_log* audit = nullptr; ///< May be null.
    forget_thread_function forget_thread;
    /// The same for all threads of a principal, and what belongs to none. May be empty.
    std::function<void(std::string_view principal)> forget_principal;
};

/// The routes of the control socket (gateway/control/README.md). Callers need scope::admin, which
/// every peer of the socket has.
[[nodiscard]] std::vector<route> make_control_routes(control_parts parts);

} // namespace agui::gateway
