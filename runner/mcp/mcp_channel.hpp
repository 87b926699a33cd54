#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

/// Why an MCP server gave no result.
struct mcp_failure {
    enum class kind {
        unavailable, ///< The server cannot be reached.
        refused,     ///< The server answered with an HTTP error status.
        lost,        ///< The connection or the process ended before the answer.
        timeout,
        protocol,    ///< The server sent a message that is too long or not MCP.
        error,       ///< The server answered with a JSON-RPC error.
        cancelled,   ///< The caller no longer waits for the answer.
        memory,      ///< The memory budget has no room for the answer.
        closed,      ///< We ended the session.
        changed,     ///< The tool's definition is not the accepted one, so it was not called.
        absent,      ///< The server does not list the tool in this session, so it was not called.
        unconfirmed, ///< It is not known whether it is the accepted one, so it was not called.
    };
    kind what = kind::lost;
    std::string detail;        ///< For the log, in our own words.
    std::string upstream = {}; ///< Only for `error`: the server's text, for the model.
    /// The server certainly did not execute the request: it was not sent, or was refused.
    bool not_taken = false;
    bool session_over = false; ///< Only for `refused`: the server no longer knows the session.
};

[[nodiscard]] std::string_view to_string(mcp_failure::kind kind) noexcept;

/// A failure of kind `protocol`.
[[nodiscard]] inline mcp_failure mcp_protocol_failure(std::string detail) {
    return {.what = mcp_failure::kind::protocol, .detail = std::move(detail)};
}

[[noreturn]] void
throw_exception_from_error(const mcp_failure& error, const boost::source_location& where);

template <class T>
using mcp_result = boost::system::result<T, mcp_failure>;

/// Carries the messages of one MCP session. All its functions and all calls of its receiver run on
/// one executor that one thread runs. Owned by shared_ptr: pending operations keep it alive.
class mcp_channel {
public:
    /// Gets the server's messages. Never called during send(), forget() or listen().
    class receiver {
    public:
        virtual ~receiver() = default;
        /// A text from the server; only its length was checked. After it returns, the channel
        /// continues reading the same stream. May still be running when close() is called.
        [[nodiscard]] virtual boost::asio::awaitable<void> on_message(std::string text) = 0;
        /// This request will not be answered, but the channel may still work.
        virtual void on_unanswered(std::int64_t request, mcp_failure why) = 0;
        /// The channel has failed. Called at most once, and last.
        virtual void on_closed(mcp_failure why) = 0;
    };

    virtual ~mcp_channel() = default;

    /// Opens the channel; to be called once, before all others. Returns nullopt on success. `to`
    /// must live until close() is called, which is also needed after a failure.
    [[nodiscard]] virtual std::optional<mcp_failure> open(receiver& to) = 0;
    /// Sends a message. `request` is its id if the text is a request.
    virtual void send(std::string text, std::optional<std::int64_t> request) = 0;
    /// Sends a notification and returns once the server has it, as far as the channel can tell.
    [[nodiscard]] virtual boost::asio::awaitable<std::optional<mcp_failure>>
    deliver(std::string text) = 0;
    /// Call it once the answer to this request is no longer needed.
    virtual void forget(std::int64_t request) = 0;
    /// Sets the protocol revision for all later messages of both sides.
    virtual void use_version(std::string_view version) = 0;
    /// Call it when the session is ready: from then on the server may send messages on its own.
    virtual void listen() = 0;
    /// Returns once the server has all sent messages that are no requests, as far as the channel
    /// can tell, or at `until`.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    flush(std::chrono::steady_clock::time_point until) = 0;
    /// Closes the channel. From the call on, the receiver is not called. Returns once the server
    /// was told, or after a few seconds.
    [[nodiscard]] virtual boost::asio::awaitable<void> close() = 0;
};

} // namespace agui::runner
