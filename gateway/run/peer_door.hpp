#pragma once

#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {

/// Why a run is stopped for another gateway.
enum class stop_wish {
    cancelled,          ///< A client asks for it, also for requests that may become a run.
    superseded,         ///< A new message takes its thread.
    superseded_if_left, ///< The same, once it has lost its readers within run_settings::busy_wait.
};

/// What a stop has met in one process.
struct stopped_here {
    bool any = false;     ///< There was something to stop: a run, or a request that may become one.
    bool stopped = false; ///< It has ended by a stop.
};

/// Why another gateway shows no more entries of a run.
enum class entries_end {
    ended,   ///< The run has ended, and all of it was shown.
    moved,   ///< That gateway has lost the run.
    cut_off, ///< It has closed this stream, because it came too slowly, or the gateway ends.
    lost,    ///< The connection broke, or what came made no sense.
    left,    ///< leave() was called.
};

/// The next part of a run's log, as another gateway shows it.
struct run_entries {
    std::vector<session::log_entry> entries; ///< In order.
    /// With entries_end::ended: the events that end the log and have no number.
    std::vector<std::string> unnumbered;
    std::optional<entries_end> end; ///< Nothing will follow.
};

/// Reads the log of a run that another gateway has. Counts there as one reader; if it is destroyed
/// before an end, as one that was cut off. Used on one executor.
class entry_reader {
public:
    virtual ~entry_reader() = default;
    /// Returns once there is something new, or for no reason. Not to be called after an end.
    [[nodiscard]] virtual boost::asio::awaitable<run_entries> read() = 0;
    /// Makes read() return entries_end::left. The other gateway learns how its reader has ended.
    virtual void leave(session::leaving how) = 0;
};

/// A request of a client for a run, as another gateway is asked to answer it.
struct client_request {
    std::string method;
    std::string pattern; ///< Of its route.
    std::vector<std::string> path_parameters;
    std::vector<std::pair<std::string, std::string>> headers; ///< Names in lower case.
    std::string body;
    std::string principal;
    std::string thread_id; ///< Also if it has none: then the first gateway has made one.
    std::string run_id;    ///< The same.
    std::chrono::steady_clock::time_point received; ///< When its first byte arrived.
};

/// What is answered to it.
struct client_answer {
    int status = 200;
    std::vector<std::pair<std::string, std::string>> headers; ///< Besides those of every answer.
    std::string content_type;
    std::string body;
    /// The events of that run are the answer, in place of the body; empty: the body is. They are
    /// read from the gateway that has answered.
    std::string run_id;
    bool is_elsewhere = false; ///< Nothing was done: that gateway does not have the thread.
    bool is_unreached = false; ///< Nothing was done: that gateway cannot be asked.
};

/// The way to other gateways on the same store. Safe to call from any thread. Where a gateway
/// cannot be asked: errc::store_unavailable, at once if that was found out a moment ago.
class peer_door {
public:
    virtual ~peer_door() = default;

    /// A run as another gateway is asked for it.
    struct asked_run {
        session::thread_key key;
        std::string run_id;
        std::int64_t number = 0; ///< 0: not known, as of a request that waits in the queue.
    };
    /// Begins to read a run's log after entry `after`. `gateway` is the number of the one that has
    /// the run (session::thread_holder). errc::not_found: it does not have it.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::unique_ptr<entry_reader>>>
    open(std::int64_t gateway, asked_run run, std::uint64_t after) = 0;

    /// Stops what that gateway has of the thread, as run_service::stop_here() does there. Returns
    /// once it has ended. May be repeated.
    [[nodiscard]] virtual boost::asio::awaitable<result<stopped_here>> stop(
        std::int64_t gateway, session::thread_key key, std::optional<std::string> run_id,
        stop_wish wish
    ) = 0;

    /// Lets that gateway, which has the thread, answer a request. errc::store_unavailable: it was
    /// sent, and may have been carried out or not.
    [[nodiscard]] virtual boost::asio::awaitable<result<client_answer>>
    pass(std::int64_t gateway, client_request request) = 0;

    struct stopped_everywhere {
        stopped_here met;         ///< In all of them together.
        bool all_reached = false; ///< False: some could not be asked, or have not answered.
    };
    /// Cancels at all other gateways at once, which keep the stop for a request that comes later.
    /// Without a runId, what they have received after `asked` is not meant.
    /// `owner` is the one that has the thread; 0: none. Waits for the end of its run, and for the
    /// others only briefly. Fails only if the store cannot say which there are.
    [[nodiscard]] virtual boost::asio::awaitable<result<stopped_everywhere>> stop_everywhere(
        session::thread_key key, std::optional<std::string> run_id, std::int64_t owner,
        std::chrono::steady_clock::time_point asked
    ) = 0;
};

} // namespace agui::gateway
