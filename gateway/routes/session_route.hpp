#pragma once

#include "gateway/auth/current_authenticator.hpp"
#include "gateway/http/router.hpp"
#include "session/base/clock.hpp"

#include <vector>

namespace agui::gateway {

/// POST /agui/session: begins a session of a browser with the credentials of the request. 200
/// `{"user", "tenant"?, "scopes", "expires"}` (ms) and the cookie; 422 if the caller has too many
/// scopes for a cookie. With the cookie of a session alone, it prolongs that one
/// (session_cookies::longest).
///
/// DELETE ends it in the browser: 204, also if there is none. A copy of the cookie stays valid
/// until the session's end, because nothing is stored.
///
/// Both exist only while there are sessions (route::of_sessions). The references must outlive the
/// handlers.
[[nodiscard]] std::vector<route>
make_session_routes(const current_authenticator& auth, const clock& time);

} // namespace agui::gateway
