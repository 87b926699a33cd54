#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "gateway/run/requested_run.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace agui::gateway {

/// Implements run_service::accept().
[[nodiscard]] boost::asio::awaitable<result<accepted_run>>
accept_run(std::shared_ptr<run_core> core, requested_run what);

/// Counts the memory of the thread that was read for a request, until its run counts it.
/// errc::overloaded: there is no room; then the thread is dropped.
[[nodiscard]] result<void> hold_thread(accepted_run::admitted& request);

} // namespace agui::gateway
