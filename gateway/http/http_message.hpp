#pragma once

#include "gateway/audit/audit_log.hpp"
#include "gateway/auth/caller.hpp"
#include "gateway/auth/route_access.hpp"
#include "gateway/base/event_source.hpp"
#include "gateway/base/request_source.hpp"
#include "gateway/http/file_body.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/thread_access.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace agui::gateway {

/// The memory of a plain reply of at most this many bytes is not counted: the kernel takes it at
/// once.
inline constexpr std::size_t uncounted_reply_bytes = 65'536;

/// The memory_use of a body of that size: large from 2 MB on, small up to 64 KB.
[[nodiscard]] memory_use memory_use_of_body(std::size_t bytes) noexcept;

/// Extra data of a request that another gateway has passed on: the ids that it has chosen, and
/// results that it gets besides the reply.
struct passed_request {
    std::string thread_id; ///< Set even if the request names none.
    std::string run_id;    ///< The same.
    std::string begun{
    }; ///< The run whose events are the answer, in place of a stream. Empty if there is none.
    bool is_elsewhere = false; ///< Nothing was done; another process must or may answer.
    std::string principal{};   ///< The owner of the thread.
    /// The thread's shared id if it is not the sender's own; otherwise empty.
    std::string shared_id{};
    session::access_right right{}; ///< The sender's in a shared thread.
};

/// A request that passed the framing, size and media type checks. Owned by the connection; handlers
/// may take the body out of it.
struct http_request {
    std::string method;
    std::string path;         ///< Percent-decoded, below base_path, without the query.
    std::string query;        ///< As sent, without '?'.
    std::string_view pattern; ///< Pattern of its route.
    std::vector<std::string> path_parameters; ///< Decoded, in the order of the route's pattern.
    std::vector<std::pair<std::string, std::string>> headers; ///< Names in lower case.
    std::string body;
    /// The memory of the body. A handler that takes the body must take this too.
    memory_share memory;
    /// The memory of a plain reply. The connection grows it once there is a reply, unless the
    /// handler knew the size and did so first.
    memory_share reply_memory;
    client_address address; ///< Set before it is known who sent the request.
    /// Set by authentication. Null on a route that is open to everybody.
    std::shared_ptr<const caller> sender;
    /// The condition of its route, for find_named_thread(). Empty on a route that is open to
    /// everybody.
    std::optional<route_access> access;
    bool plain_loopback = false; ///< presented_head::plain_loopback
    /// Set by a handler whose request belongs into the audit. Written once it has answered.
    std::optional<audit_note> audited;
    /// Set if another gateway passed it on; null for a client's own request.
    passed_request* passed = nullptr;
    std::chrono::steady_clock::time_point received; ///< When its first byte arrived.

    /// The first header with that name (lower case), or empty.
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
    /// The sender's principal; empty if there is no sender. A thread that the request names is
    /// found by find_named_thread(), because it may be another principal's.
    [[nodiscard]] std::string principal() const;
    /// "METHOD PATTERN", for the audit.
    [[nodiscard]] std::string route_name() const;
};

struct http_reply {
    int status = 200;
    /// In addition to the headers that every reply has.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string content_type = "application/json";
    std::string body;
    std::optional<file_body> file; ///< Sent instead of `body`.
    /// For the log: why the server has no room for the request. Empty if it has room.
    std::string no_room;
};

/// Answers 200 with the bytes of the source, until it has ended.
struct stream_reply {
    std::unique_ptr<event_source> source;
};

using handler_reply = std::variant<http_reply, stream_reply>;

/// Answers a request, which it may change. Runs on the connection's executor; the request lives
/// until it has answered. An exception is logged and becomes a 500 that does not say why.
using http_handler = std::function<boost::asio::awaitable<handler_reply>(http_request&)>;

} // namespace agui::gateway
