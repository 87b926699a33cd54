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

/// The broken rules about access: no [auth], or no allowed_hosts, where it is needed, and tool
/// servers that would be sent the gateway's own token.
[[nodiscard]] std::vector<access_problem> access_problems(const config& all);

/// True also for an address that cannot be read, which is a problem of its own.
[[nodiscard]] bool listens_on_loopback(const server_config& server);

} // namespace agui::gateway
