#pragma once

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace agui {

/// Why a request, a run or a store operation failed because of its input or of the state it found.
/// Bugs, and infrastructure failures that no caller can handle, are exceptions instead. Each name
/// (to_string) is an `error.code` of an HTTP error body.
enum class errc {
    invalid_json,
    invalid_input,                ///< A known field has a wrong type or value; `path` names it.
    unsupported_protocol_version, ///< The peer declared a major version that is not served.
    unknown_tool_call,    ///< An answer to a call that is neither in the thread nor in the input.
    tool_name_mismatch,   ///< The answer names a tool other than its call's.
    partial_tool_answers, ///< `tools.on_partial = "reject"` and not all calls answered.
    pending_tool_calls,   ///< `tools.on_abandoned = "reject"` and calls are open.
    tool_name_clash,      ///< A client tool has a server tool's name, with "reject".
    tool_not_allowed,     ///< Clients may not offer a tool of that name (`tools.client_names`).
    thread_busy,          ///< Another run holds the thread (`active_run_id`), or the server does.
    conflict,             ///< The thread changed since the caller read it; read it again.
    claimed,              ///< Another client has claimed the call.
    patch_conflict,       ///< A JSON Patch does not apply to the document that is stored.
    lease_lost,           ///< The caller no longer holds the thread; inside the process only.
    queue_full,           ///< The thread's queue is full (`session.queue_max`), or its messages.
    run_id_reused,        ///< The runId was used before with a different body.
    run_ended,            ///< No active run takes the message; nothing was stored.
    run_expired,          ///< The run is known, but its log is gone.
    cursor_expired,       ///< The run's log is gone, or it ends before the cursor.
    bad_cursor,           ///< A text that is not a cursor.
    body_too_large,       ///< The thread would exceed `session.max_thread_bytes`.
    not_found,
    overloaded,        ///< A limit of the process is reached; try again later.
    quota_exceeded,    ///< A limit of the caller is reached (`[[quotas]]`); see retry_after.
    draining,          ///< The process is shutting down.
    store_unavailable, ///< The store cannot be read or written.
    internal,
};

/// The snake_case name that clients see, e.g. "unknown_tool_call". Never empty.
[[nodiscard]] std::string_view to_string(errc code) noexcept;

/// An expected failure. `detail` is one sentence for the caller of the API: it says what is wrong
/// and what would be right, and never holds a secret or an upstream's text.
struct failure {
    errc code = errc::internal;
    std::string detail;
    /// JSON path into the request, as `messages[2].toolCallId`; or empty.
    std::string path{};
    std::string active_run_id{}; ///< The run that holds the thread, if one does (thread_busy).
    /// The other process that holds the thread (session::store::gateway_number()), for thread_busy;
    /// 0 if it is this process or unknown.
    std::int64_t gateway = 0;
    /// Seconds after which the same request may succeed (quota_exceeded); 0 if time does not help.
    std::int64_t retry_after = 0;
};

/// Called by result<T>::value() if there is no value. Throws std::runtime_error with code and
/// detail.
[[noreturn]] void
throw_exception_from_error(const failure& error, const boost::source_location& where);

template <class T>
using result = boost::system::result<T, failure>;

} // namespace agui
