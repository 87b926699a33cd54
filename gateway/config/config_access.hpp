#pragma once

#include "gateway/config/config.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// A rule that several tables of a configuration break together.
struct access_problem {
    std::string_view table; ///< The key of one of them.
    std::string text;
};

/// Violated access rules: a missing [auth] or allowed_hosts where one is required, and tool servers
/// that would get the gateway's own token.
[[nodiscard]] std::vector<access_problem> access_problems(const config& all);

/// True if nobody is authenticated.
[[nodiscard]] bool accepts_everybody(const config& all) noexcept;

/// Also returns true for an unparsable address, which is reported elsewhere.
[[nodiscard]] bool listens_on_loopback(const server_config& server);

} // namespace agui::gateway
