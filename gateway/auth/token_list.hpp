#pragma once

#include "gateway/auth/authenticator.hpp"
#include "gateway/auth/caller.hpp"
#include "session/base/clock.hpp"

#include <memory>
#include <string>
#include <vector>

namespace agui::gateway {

/// A token of the configuration and its caller.
struct listed_token {
    std::string token;
    caller who;
};

/// Accepts everybody: every request is everybody()'s.
[[nodiscard]] std::shared_ptr<authenticator> make_open_authenticator();

/// Accepts the listed bearer tokens until their callers expire. Keeps digests of the tokens only.
/// The time of a check depends on the number of tokens and on the length of the presented one, not
/// on where the texts differ. `time` must outlive it.
[[nodiscard]] std::shared_ptr<authenticator>
make_token_authenticator(std::vector<listed_token> tokens, const clock& time);

} // namespace agui::gateway
