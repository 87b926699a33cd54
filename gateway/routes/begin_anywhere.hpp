#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/log/thread_naming.hpp"
#include "gateway/routes/input_parser.hpp"
#include "gateway/routes/named_thread.hpp"
#include "gateway/run/peer_door.hpp"
#include "gateway/run/requested_run.hpp"
#include "gateway/runs/run_service.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <string>
#include <variant>

namespace agui::gateway {

/// A run that a request has begun, or repeats.
struct begun_anywhere {
    std::shared_ptr<event_log> log;
    std::string run_id;
    std::shared_ptr<const thread_naming> naming = nullptr; ///< run_stream_request::naming
};

/// The parsed request for a run.
struct read_request {
    requested_run what;
    std::string body; ///< The unparsed body, if body_afterwards() says to keep it.
};

/// A client's request in the form in which another gateway gets it.
[[nodiscard]] client_request request_for_other(
    const http_request& request, const named_thread& thread, std::string run_id, std::string body
);

/// The plain answer of another gateway.
[[nodiscard]] http_reply reply_of(client_answer answer);

/// Says whether the body must be kept after reading, because it may be passed on.
[[nodiscard]] input_parser::afterwards
body_afterwards(const run_service& runs, const http_request& request);

/// Begins the run that a request asks for, or passes the request to the gateway that has the thread
/// or in which the request waits. `read` parses a body; it may be called more than once, and must
/// find the same ids each time. It leaves the sender's principal and the client's threadId in the
/// request: this function finds the thread (find_named_thread). errc::not_found: the threadId is
/// one of a shared thread that is not opened to the sender. Returns an http_reply for a plain
/// answer of another gateway, and if the request was itself passed on. The arguments must outlive
/// the await. errc::thread_busy: also if the gateway that has the thread cannot be reached.
/// errc::store_unavailable: also if it has not answered and may have begun the run.
/// errc::overloaded: also if there is no memory to pass the request on.
[[nodiscard]] boost::asio::awaitable<std::variant<begun_anywhere, failure, http_reply>>
begin_anywhere(
    run_service& runs, http_request& request,
    std::function<boost::asio::awaitable<result<read_request>>(std::string)> read
);

} // namespace agui::gateway
