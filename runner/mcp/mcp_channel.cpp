#include "runner/mcp/mcp_channel.hpp"

#include <stdexcept>

namespace agui::runner {

std::string_view to_string(mcp_failure::kind kind) noexcept {
    switch (kind) {
    case mcp_failure::kind::unavailable:
        return "unavailable";
    case mcp_failure::kind::refused:
        return "refused";
    case mcp_failure::kind::lost:
        return "lost";
    case mcp_failure::kind::timeout:
        return "timeout";
    case mcp_failure::kind::protocol:
        return "protocol";
    case mcp_failure::kind::error:
        return "error";
    case mcp_failure::kind::cancelled:
        return "cancelled";
    case mcp_failure::kind::memory:
        return "memory";
    case mcp_failure::kind::closed:
        return "closed";
    case mcp_failure::kind::changed:
        return "changed";
    case mcp_failure::kind::absent:
        return "absent";
    case mcp_failure::kind::unconfirmed:
        return "unconfirmed";
    }
    return "lost";
}

void throw_exception_from_error(const mcp_failure& error, const boost::source_location& where) {
    (void)where; // The caller of value() says nothing about the cause.
    throw std::runtime_error("mcp " + std::string(to_string(error.what)) + ": " + error.detail);
}

} // namespace agui::runner
