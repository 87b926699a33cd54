#pragma once

#include "gateway/runs/accepted_run.hpp"
#include "gateway/runs/event_log.hpp"
#include "gateway/runs/live_run.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace agui::gateway {

/// Does what run_service::begin() promises.
[[nodiscard]] boost::asio::awaitable<result<void>> begin_run(accepted_run accepted);

/// The part of it that follows once the request has acquired its thread in the store. On failure
/// the thread is free again. A request that waits in the queue (admitted::waiting) begins a pass,
/// also if it fails then. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<live_run>>>
begin_on_thread(accepted_run::admitted& request, std::shared_ptr<event_log> log);

} // namespace agui::gateway
