#pragma once

#include "gateway/log/event_log.hpp"
#include "gateway/run/conversation_key.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>
#include <string>

namespace agui::gateway {

/// Where a run is.
enum class run_place {
    here,      ///< This process has it, or its request waits here for a busy thread.
    elsewhere, ///< Another process on the same store has it.
    lost,      ///< Nobody has it, and it could not be ended yet.
    ended,
};

/// A run that the thread had or has.
struct known_run {
    session::run_record record;     ///< Of an active run: the record as it began.
    std::shared_ptr<event_log> log; ///< Null: the log is elsewhere, in the store, or gone.
    run_place place = run_place::ended;
    std::int64_t gateway = 0; ///< Which has it, if it is elsewhere; 0: unknown.
};

/// Looks up a run: among the active ones, then in the store. If nobody has it any more, tries to
/// recover it first. Nullopt: the thread has never had that run. `core` must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<known_run>>>
find_run(run_core& core, conversation_key place, std::string run_id);

/// A run that another process has.
struct run_elsewhere {
    std::string run_id;      ///< Empty: a server itself holds the thread.
    std::int64_t number = 0; ///< 0: it has not begun.
    session::node_index first_own_message = session::no_node;
    std::int64_t gateway = 0; ///< session::peer_address::number.
};

/// Who holds the thread in another process; nullopt: nobody does, or this process. The arguments
/// must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<run_elsewhere>>>
find_elsewhere(run_core& core, const conversation_key& place);

/// The request with that runId which waits in the thread's queue, in another process: a run that is
/// elsewhere and has no number. Its gateway is 0 while no process lets it wait. Nullopt: there is
/// none. If it has begun meanwhile: as find_run(). The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<known_run>>>
find_queued(run_core& core, const conversation_key& place, std::string run_id);

/// True: the request with that runId waits in the thread's queue, as the store says, perhaps in
/// another process. Always false where there is no queue, or no other process. The arguments must
/// outlive the await.
[[nodiscard]] boost::asio::awaitable<result<bool>>
is_queued(run_core& core, const conversation_key& place, std::string run_id);

/// Returns once the run, which is elsewhere, has ended or been lost, as the store says then.
/// Nullopt: it is not known any more, or has not begun. errc::draining: this process ends. With
/// `stops` all processes are asked again and again to stop it, by the store. The arguments must
/// outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<session::run_record>>>
wait_for_end_elsewhere(
    run_core& core, const conversation_key& place, std::string run_id, bool stops = false
);

} // namespace agui::gateway
