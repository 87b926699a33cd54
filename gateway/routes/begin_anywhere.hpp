#pragma once

#include "gateway/http/http_message.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/routes/input_parser.hpp"
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
};

/// What a route reads of a request for a run.
struct read_request {
    requested_run what;
    std::string body; ///< As it was given, if body_afterwards() says so.
};

/// How a route reads the body of such a request.
[[nodiscard]] input_parser::afterwards
body_afterwards(const run_service& runs, const http_request& request);

/// Begins the run that a request asks for; or lets another gateway answer the request, if that one
/// has the thread, or the request waits there. `read` reads the body that it is given; it may be
/// called more than once, and must find the same ids each time. A plain answer of another gateway
/// is returned as it is, and so is what is answered to one that has passed the request on. The
/// arguments must outlive the await. errc::thread_busy: also if the gateway that has the thread
/// cannot be asked. errc::store_unavailable: also if it has not answered, and may have begun the
/// run. errc::overloaded: also if there is no memory to pass the request on.
[[nodiscard]] boost::asio::awaitable<std::variant<begun_anywhere, failure, http_reply>>
begin_anywhere(
    run_service& runs, http_request& request,
    std::function<boost::asio::awaitable<result<read_request>>(std::string)> read
);

} // namespace agui::gateway
