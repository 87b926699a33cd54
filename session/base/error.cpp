#include "session/base/error.hpp"

#include <stdexcept>

namespace agui {

std::string_view to_string(errc code) noexcept {
    switch (code) {
    case errc::invalid_json:
        return "invalid_json";
    case errc::invalid_input:
        return "invalid_input";
    case errc::unsupported_protocol_version:
        return "unsupported_protocol_version";
    case errc::unknown_tool_call:
        return "unknown_tool_call";
    case errc::tool_name_mismatch:
        return "tool_name_mismatch";
    case errc::partial_tool_answers:
        return "partial_tool_answers";
    case errc::pending_tool_calls:
        return "pending_tool_calls";
    case errc::tool_name_clash:
        return "tool_name_clash";
    case errc::tool_not_allowed:
        return "tool_not_allowed";
    case errc::thread_busy:
        return "thread_busy";
    case errc::conflict:
        return "conflict";
    case errc::claimed:
        return "claimed";
    case errc::patch_conflict:
        return "patch_conflict";
    case errc::lease_lost:
        return "lease_lost";
    case errc::queue_full:
        return "queue_full";
    case errc::run_id_reused:
        return "run_id_reused";
    case errc::run_ended:
        return "run_ended";
    case errc::run_expired:
        return "run_expired";
    case errc::cursor_expired:
        return "cursor_expired";
    case errc::bad_cursor:
        return "bad_cursor";
    case errc::body_too_large:
        return "body_too_large";
    case errc::not_found:
        return "not_found";
    case errc::overloaded:
        return "overloaded";
    case errc::quota_exceeded:
        return "quota_exceeded";
    case errc::draining:
        return "draining";
    case errc::store_unavailable:
        return "store_unavailable";
    case errc::internal:
        return "internal";
    }
    return "internal";
}

void throw_exception_from_error(const failure& error, const boost::source_location& where) {
    (void)where; // The text is for a log; where value() was called says nothing about the cause.
    throw std::runtime_error(std::string(to_string(error.code)) + ": " + error.detail);
}

} // namespace agui
