#pragma once

#include "gateway/runs/conversation_key.hpp"
#include "gateway/runs/event_log.hpp"
#include "gateway/runs/run_core.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>

namespace agui::gateway {

/// A run that the thread had or has.
struct known_run {
    session::run_record record;     ///< Of an active run: the record as it began.
    std::shared_ptr<event_log> log; ///< Null: the log is in the store, or gone.
};

/// Looks up a run: among the active ones, then in the store. If it is an orphan, tries to recover
/// it first. Nullopt: the thread has never had that run. `core` must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<known_run>>>
find_run(run_core& core, conversation_key place, std::string run_id);

/// The log of a known run, from its first event on. Deltas of a run that ended longer ago than
/// run_settings::replay may be joined (event_log::restored). errc::run_expired: its events are
/// gone. errc::overloaded: there is not enough memory for them. errc::store_unavailable: also for
/// an orphan that cannot be recovered yet. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>>
log_of(run_core& core, const conversation_key& place, const known_run& run);

} // namespace agui::gateway
