#pragma once

#include <string>

namespace agui::gateway {

/// The address of a client behind server.trusted_proxies. A form that nothing in the process needs
/// is empty.
struct client_address {
    std::string whole{};   ///< For the audit and the access log (address_of()).
    std::string counted{}; ///< For [[quotas]] (client_of()). If empty, no limit applies.

    friend bool operator==(const client_address&, const client_address&) = default;
};

/// Where a run came from. Members are empty if they are unknown.
struct request_source {
    client_address address{};
    std::string principal{}; ///< The sender's, to whom the thread may just be opened.
    std::string route{};     ///< "METHOD PATTERN", for the audit.
};

} // namespace agui::gateway
