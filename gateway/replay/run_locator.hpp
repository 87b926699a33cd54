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

/// Location of a run.
enum class run_place {
    here,      ///< In this process, or its request waits here for a busy thread.
    elsewhere, ///< In another process on the same store.
    lost,      ///< In no process, and recovery has not ended it yet.
    ended,
};

/// A run that the thread had or has.
struct known_run {
    session::run_record record;     ///< For an active run, the record from its beginning.
    std::shared_ptr<event_log> log; ///< Null if the log is elsewhere, in the store, or gone.
    run_place place = run_place::ended;
    std::int64_t gateway = 0; ///< If elsewhere: the gateway that has it, or 0 if unknown.
};

/// Looks up a run: among the active ones, then in the store. If no process has it, tries to recover
/// it first. nullopt if the thread has never had that run. `core` must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<known_run>>>
find_run(run_core& core, conversation_key conversation, std::string run_id);

/// A run that another process has.
struct run_elsewhere {
    std::string run_id;      ///< Empty if a server holds the thread for itself.
    std::int64_t number = 0; ///< 0 if it has not begun.
    session::node_index first_own_message = session::no_node;
    std::int64_t gateway = 0; ///< session::peer_address::number.
};

/// The run that holds the thread in another process. nullopt if the thread is free or held by this
/// process. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<run_elsewhere>>>
find_elsewhere(run_core& core, const conversation_key& conversation);

/// The request with that runId that waits in the thread's queue, in another process, as a run
/// elsewhere without a number. Its gateway is 0 while no process handles it. nullopt if there is
/// none. If it is not in the queue, the result is that of find_run(), because it may have begun.
/// The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<known_run>>>
find_queued(run_core& core, const conversation_key& conversation, std::string run_id);

/// Returns true if the request with that runId waits in the thread's queue in the store, perhaps in
/// another process. Always false without a queue or a shared store. The arguments must outlive the
/// await.
[[nodiscard]] boost::asio::awaitable<result<bool>>
is_queued(run_core& core, const conversation_key& conversation, std::string run_id);

/// Waits until the run, which is elsewhere, has ended or been lost, and returns its stored record.
/// nullopt if it is unknown or has not begun. errc::draining: this process ends. With `stops`, all
/// processes are asked repeatedly, through the store, to stop it. The arguments must outlive the
/// await.
[[nodiscard]] boost::asio::awaitable<result<std::optional<session::run_record>>>
wait_for_end_elsewhere(
    run_core& core, const conversation_key& conversation, std::string run_id, bool stops = false
);

} // namespace agui::gateway
