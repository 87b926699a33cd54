#pragma once

#include "gateway/auth/authenticator.hpp"
#include "gateway/auth/session_cookie.hpp"
#include "session/base/clock.hpp"

#include <memory>

namespace agui::gateway {

/// Accepts the credentials that `checker` accepts, and the cookies of sessions that began with
/// them. Authorization decides alone where it is present, also if it is wrong. What a cookie still
/// opens is what `checker` recalls (authenticator::recall). `time` must outlive it.
[[nodiscard]] std::shared_ptr<authenticator> make_session_authenticator(
    std::shared_ptr<authenticator> checker, std::shared_ptr<const session_cookies> cookies,
    const clock& time
);

} // namespace agui::gateway
