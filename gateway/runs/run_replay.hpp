#pragma once

#include "gateway/runs/conversation_key.hpp"
#include "gateway/runs/event_log.hpp"
#include "gateway/runs/run_core.hpp"
#include "gateway/runs/run_locator.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <vector>

namespace agui::gateway {

/// The log of a known run, from its first event on; that of a run elsewhere is read as it grows.
/// Deltas of a run that ended longer ago than
/// run_settings::replay may be joined (event_log::restored). errc::run_expired: its events are
/// gone. errc::overloaded: there is not enough memory for them. errc::store_unavailable: also for
/// an orphan that cannot be recovered yet. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>>
log_of(run_core& core, const conversation_key& place, const known_run& run);

/// event_log::restore(). errc::run_expired: an entry is damaged, and the log is of no use.
[[nodiscard]] result<void>
restore_entries(event_log& log, const std::vector<session::log_entry>& entries);

} // namespace agui::gateway
