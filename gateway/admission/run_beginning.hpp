#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/run/live_run.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace agui::gateway {

/// The part of a run's record that its request gives.
[[nodiscard]] session::run_record
record_of(const accepted_run::admitted& request, unix_ms started_at);

/// Begins the run of a request that has acquired its thread in the store. On failure the thread is
/// released. A request that waits in the queue (admitted::waiting) takes its batch
/// (admitted::batch) even if its run then fails. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<live_run>>>
begin_on_thread(accepted_run::admitted& request, std::shared_ptr<event_log> log);

} // namespace agui::gateway
