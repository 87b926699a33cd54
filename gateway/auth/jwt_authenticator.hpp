#pragma once

#include "gateway/auth/authenticator.hpp"
#include "gateway/auth/jwt.hpp"
#include "gateway/auth/key_source.hpp"
#include "session/base/clock.hpp"

#include <memory>

namespace agui::gateway {

/// Accepts the bearer tokens that check_jwt() accepts. A token with an unknown key makes it fetch
/// the keys again (key_source::refresh). Verified tokens are remembered by their digest until they
/// expire, or the keys change: a repeated token costs one SHA-256. `time` must outlive it.
[[nodiscard]] std::shared_ptr<authenticator>
make_jwt_authenticator(jwt_rules rules, std::shared_ptr<key_source> keys, const clock& time);

} // namespace agui::gateway
