#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "gateway/log/event_log.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>

namespace agui::gateway {

/// The failure of a request that reuses a runId or an idempotency key with another body.
[[nodiscard]] failure used_otherwise(bool by_key);

/// Makes the empty `log` the log of a run that another process has begun since this request was
/// admitted (P6). errc::run_id_reused: it was begun with another body. errc::thread_busy: it is not
/// a run yet. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<void>>
read_repeated(const accepted_run::admitted& request, const std::shared_ptr<event_log>& log);

} // namespace agui::gateway
