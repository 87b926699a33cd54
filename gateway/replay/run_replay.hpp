#pragma once

#include "gateway/log/event_log.hpp"
#include "gateway/replay/run_locator.hpp"
#include "gateway/run/conversation_key.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <vector>

namespace agui::gateway {

/// The log of a known run, from its first event on. The log of a run elsewhere is read as it grows.
/// Deltas of a run that ended longer ago than run_settings::replay may be joined
/// (event_log::restored). errc::run_expired: its events are gone. errc::overloaded: there is not
/// enough memory for them. errc::store_unavailable: also for an orphan that cannot be recovered
/// yet. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>>
log_of(run_core& core, const conversation_key& conversation, const known_run& run);

} // namespace agui::gateway
