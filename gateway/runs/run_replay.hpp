#pragma once

#include "gateway/runs/event_log.hpp"
#include "gateway/runs/run_registry.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>

namespace agui::gateway {

/// A run that the thread had or has.
struct known_run {
    session::run_record record;     ///< Of a run under way: as it began.
    std::shared_ptr<event_log> log; ///< Null: it is in the store, or gone.
};

/// Looks a run up, among those under way first. Nullopt: the thread never had it.
[[nodiscard]] boost::asio::awaitable<result<std::optional<known_run>>> find_run(
    session::store& store, const run_registry& registry, conversation_key place, std::string run_id
);

/// The log of a known run, from its first event on. errc::run_expired: its events are gone. With
/// `join_deltas`, deltas of an ended run may be joined (event_log::restored). errc::overloaded:
/// `budget`, which may be null, has no room for them. `run` must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>> log_of(
    session::store& store, run_registry& registry, const known_run& run, bool join_deltas,
    memory_budget* budget
);

} // namespace agui::gateway
