#pragma once

#include "gateway/base/request_source.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"
#include "session/conversation/thread_access.hpp"
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
    cancelled,  ///< A client asks for it. Also stops requests that may become a run.
    superseded, ///< A new message takes its thread.
    /// The same, but only if it loses its readers within run_settings::busy_wait.
    superseded_if_left,
};

/// Result of a stop in one process.
struct stopped_here {
    bool any = false;     ///< There was a run to stop, or a request that may become one.
    bool stopped = false; ///< It has ended by a stop.
};

/// Why another gateway sends no more entries of a run.
enum class entries_end {
    ended,   ///< The run has ended, and all its entries were sent.
    moved,   ///< That gateway has lost the run.
    cut_off, ///< It has closed this stream, because it was read too slowly or the gateway ends.
    lost,    ///< The connection broke, or the data was malformed.
    left,    ///< leave() was called.
};

/// The next part of a run's log from another gateway.
struct run_entries {
    std::vector<session::log_entry> entries; ///< In order.
    /// With entries_end::ended: the unnumbered events that end the log.
    std::vector<std::string> unnumbered;
    std::optional<entries_end> end; ///< Set if nothing will follow.
};

/// Reads the log of another gateway's run. Counts there as one reader, and as one that was cut off
/// if it is destroyed before an end. Used on one executor.
class entry_reader {
public:
    virtual ~entry_reader() = default;
    /// Returns once there are new entries or an end, or spuriously. Not to be called after an end.
    [[nodiscard]] virtual boost::asio::awaitable<run_entries> read() = 0;
    /// Makes read() return entries_end::left, and tells the other gateway how its reader left.
    virtual void leave(session::leaving how) = 0;
};

/// A client's request for a run, in the form in which it is passed to another gateway.
struct client_request {
    std::string method;
    std::string pattern; ///< Pattern of its route.
    std::vector<std::string> path_parameters;
    std::vector<std::pair<std::string, std::string>> headers; ///< Names in lower case.
    std::string body;
    std::string principal;
    /// The sender (write_caller). Empty if an older gateway has passed it on, which knows none.
    std::string sender;
    client_address address{}; ///< http_request::address
    std::string thread_id;    ///< Set even if the request names none: the first gateway makes one.
    std::string run_id;       ///< The same.
    /// The id by which the sender knows the thread if it is another principal's; otherwise empty.
    /// The first gateway has found the thread and the right.
    std::string shared_id{};
    session::access_right right{};                  ///< The sender's in a shared thread.
    std::chrono::steady_clock::time_point received; ///< When its first byte arrived.
};

/// The answer to a client_request.
struct client_answer {
    int status = 200;
    /// In addition to the headers of every answer.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string content_type;
    std::string body;
    /// If set, the events of that run are the answer instead of the body. They are read from the
    /// gateway that has answered.
    std::string run_id;
    bool is_elsewhere = false; ///< Nothing was done, because that gateway does not have the thread.
    bool is_unreached = false; ///< Nothing was done, because that gateway cannot be reached.
};

/// Interface for requests to other gateways on the same store. Safe to call from any thread. Calls
/// fail with errc::store_unavailable if the gateway cannot be reached, at once shortly after such a
/// failure.
class peer_door {
public:
    virtual ~peer_door() = default;

    /// Names a run in a request to another gateway.
    struct asked_run {
        session::thread_key key;
        std::string run_id;
        std::int64_t number = 0; ///< 0 if unknown, as for a request that waits in the queue.
    };
    /// Begins to read a run's log after entry `after`. `gateway` is the number of the gateway that
    /// has the run (session::thread_holder). errc::not_found: it does not have the run.
    [[nodiscard]] virtual boost::asio::awaitable<result<std::unique_ptr<entry_reader>>>
    open(std::int64_t gateway, asked_run run, std::uint64_t after) = 0;

    /// Calls run_service::stop_here() in that gateway. Returns once everything stopped has ended.
    /// May be repeated.
    [[nodiscard]] virtual boost::asio::awaitable<result<stopped_here>> stop(
        std::int64_t gateway, session::thread_key key, std::optional<std::string> run_id,
        stop_wish wish
    ) = 0;

    /// Passes a request to that gateway, which has the thread. errc::store_unavailable: it was
    /// sent, but it is unknown whether it was carried out.
    [[nodiscard]] virtual boost::asio::awaitable<result<client_answer>>
    pass(std::int64_t gateway, client_request request) = 0;

    struct stopped_everywhere {
        stopped_here met;         ///< Result over all of them.
        bool all_reached = false; ///< False if some could not be reached or have not answered.
    };
    /// Cancels at all other gateways at once, which also keep the stop for requests still on their
    /// way. Without a runId, requests received after `asked` are not stopped. `owner` is the
    /// gateway that has the thread, or 0 if none has. Waits for the end of the owner's run, and for
    /// the others only briefly. Fails only if the store cannot list the gateways.
    [[nodiscard]] virtual boost::asio::awaitable<result<stopped_everywhere>> stop_everywhere(
        session::thread_key key, std::optional<std::string> run_id, std::int64_t owner,
        std::chrono::steady_clock::time_point asked
    ) = 0;
};

} // namespace agui::gateway
