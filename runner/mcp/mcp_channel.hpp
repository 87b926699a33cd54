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

namespace agui::runner {

/// Why an MCP server gave no result.
struct mcp_failure {
    enum class kind {
        unavailable, ///< It cannot be reached.
        refused,     ///< It answered with an HTTP error status.
        lost,        ///< The connection or the process ended before the answer.
        timeout,
        protocol,  ///< It sent something that is not MCP, or too long.
        error,     ///< It answered with a JSON-RPC error.
        cancelled, ///< Nobody waits for the answer any more.
        memory,    ///< The memory budget has no room for the answer.
        closed,    ///< We have ended the session.
    };
    kind what = kind::lost;
    std::string detail;        ///< For the log, in our own words.
    std::string upstream = {}; ///< error: the server's text, for the model.
    /// The server has certainly not executed the request: it was not sent, or was refused.
    bool not_taken = false;
    bool session_over = false; ///< refused: the server does not know the session any more.
};

[[nodiscard]] std::string_view to_string(mcp_failure::kind kind) noexcept;

[[noreturn]] void
throw_exception_from_error(const mcp_failure& error, const boost::source_location& where);

template <class T>
using mcp_result = boost::system::result<T, mcp_failure>;

/// Carries the messages of one MCP session. All calls, and the calls of its receiver, are made on
/// one executor that one thread runs. Owned by shared_ptr: operations under way keep it alive.
class mcp_channel {
public:
    /// Gets what the server sends. Never called during send(), forget() or listen().
    class receiver {
    public:
        virtual ~receiver() = default;
        /// A text from the server, of which only the length was checked. The channel reads on, from
        /// the same stream, once it returns. May be under way when close() is called.
        [[nodiscard]] virtual boost::asio::awaitable<void> on_message(std::string text) = 0;
        /// This request will not be answered, but the channel may still work.
        virtual void on_unanswered(std::int64_t request, mcp_failure why) = 0;
        /// The channel does not work any more. Called at most once, and last.
        virtual void on_closed(mcp_failure why) = 0;
    };

    virtual ~mcp_channel() = default;

    /// To be called first, once. `to` must live until close() is called, which is also needed after
    /// a failure. nullopt: the channel is open.
    [[nodiscard]] virtual std::optional<mcp_failure> open(receiver& to) = 0;
    /// Sends a message. `request` is the id, if the text is a request.
    virtual void send(std::string text, std::optional<std::int64_t> request) = 0;
    /// Sends a notification and returns once the server has it, as far as the channel can tell.
    [[nodiscard]] virtual boost::asio::awaitable<std::optional<mcp_failure>>
    deliver(std::string text) = 0;
    /// To be called once the answer to this request is no longer needed.
    virtual void forget(std::int64_t request) = 0;
    /// Sets the revision of the protocol that both sides speak from here on.
    virtual void use_version(std::string_view version) = 0;
    /// To be called when the session is ready: from here on the server may send messages on its
    /// own.
    virtual void listen() = 0;
    /// Returns once the server has what was sent and is no request, as far as the channel can tell,
    /// or at `until`.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    flush(std::chrono::steady_clock::time_point until) = 0;
    /// Ends everything. From the moment of the call nothing more is passed to the receiver. Returns
    /// once the server was told, or after a few seconds.
    [[nodiscard]] virtual boost::asio::awaitable<void> close() = 0;
};

} // namespace agui::runner
