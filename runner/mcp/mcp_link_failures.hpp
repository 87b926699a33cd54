#pragma once

#include "runner/mcp/mcp_call_result.hpp"
#include "runner/mcp/mcp_channel.hpp"

namespace agui::runner {

// Only for the .cpp files of mcp_link.

inline mcp_failure unconfirmed_definition() {
    return {
        .what = mcp_failure::kind::unconfirmed,
        .detail = "the definitions of the server's tools could not be compared with the accepted "
                  "ones"
    };
}

inline mcp_failure broken_list() {
    return mcp_protocol_failure("its list of tools could not be read to the end");
}

inline tool_outcome cancelled_call() {
    return mcp_call_failure({.what = mcp_failure::kind::cancelled, .detail = "cancelled"});
}

} // namespace agui::runner
