#include "runner/mcp/mcp_http_answer.hpp"

#include "runner/mcp/mcp_limits.hpp"
#include "session/base/ascii.hpp"

#include <algorithm>

namespace agui::runner {

bool has_type(const transport_response& response, std::string_view type) {
    std::string_view value = response.header("content-type");
    value = value.substr(0, value.find(';'));
    while (value.ends_with(' ') || value.ends_with('\t')) {
        value.remove_suffix(1);
    }
    return equal_ignoring_case(value, type);
}

mcp_failure mcp_failure_of(const transport_failure& failed) {
    mcp_failure why;
    why.detail = failed.detail;
    switch (failed.what) {
    case transport_failure::kind::connect:
    case transport_failure::kind::tls:
        why.what = mcp_failure::kind::unavailable;
        why.not_taken = true;
        break;
    case transport_failure::kind::timeout:
        why.what = mcp_failure::kind::timeout;
        break;
    case transport_failure::kind::lost:
        why.what = mcp_failure::kind::lost;
        break;
    case transport_failure::kind::protocol:
        why.what = mcp_failure::kind::protocol;
        break;
    case transport_failure::kind::redirect:
        why.what = mcp_failure::kind::refused;
        why.not_taken = true;
        break;
    case transport_failure::kind::memory:
        why.what = mcp_failure::kind::memory;
        break;
    case transport_failure::kind::cancelled:
        why.what = mcp_failure::kind::cancelled;
        break;
    }
    return why;
}

mcp_body_kind mcp_body_kind_of(std::string_view begun) noexcept {
    // White space, and the bytes of a byte order mark.
    begun.remove_prefix(std::min(begun.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), begun.size()));
    if (begun.empty()) {
        return mcp_body_kind::undecided;
    }
    if (begun.front() == '{' || begun.front() == '[') {
        return mcp_body_kind::document;
    }
    bool may_be_stream = false;
    for (const std::string_view field : {":", "data:", "event:", "id:", "retry:"}) {
        if (begun.starts_with(field)) {
            return mcp_body_kind::stream;
        }
        may_be_stream = may_be_stream || field.starts_with(begun);
    }
    return may_be_stream ? mcp_body_kind::undecided : mcp_body_kind::other;
}

bool is_mcp_session_id(std::string_view text) noexcept {
    return text.size() <= mcp_session_id_bytes_max &&
           std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

} // namespace agui::runner
