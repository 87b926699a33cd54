#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

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
        refused,     ///< An HTTP status in place of an answer.
        lost,        ///< The connection or the process ended before the answer.
        timeout,
        protocol,  ///< What it sent is not MCP, or too long.
        error,     ///< It answered with a JSON-RPC error.
        cancelled, ///< Nobody waits for the answer any more.
        closed,    ///< The session was ended by us.
    };
    kind what = kind::lost;
    std::string detail;        ///< For the log: our own words.
    std::string upstream = {}; ///< error: the server's words, for the model.
    bool not_taken = false; ///< For certain: the request was not sent, or is said to be at fault.
    bool session_over = false; ///< refused: the server does not know the session.
};

[[nodiscard]] std::string_view to_string(mcp_failure::kind kind) noexcept;

[[noreturn]] void
throw_exception_from_error(const mcp_failure& error, const boost::source_location& where);

template <class T>
using mcp_result = boost::system::result<T, mcp_failure>;

/// How the messages of one MCP session travel. Everything is used, and calls back, on one executor
/// that one thread runs. Owned by shared_ptr: what it has under way keeps it alive.
class mcp_channel {
public:
    /// Who gets what the server sends. Never called from inside send(), forget() or listen().
    class receiver {
    public:
        virtual ~receiver() = default;
        /// A JSON-RPC message, or something else: nothing is checked but its length.
        virtual void on_message(std::string_view text) = 0;
        /// This request will not be answered; the channel may still work.
        virtual void on_unanswered(std::int64_t request, mcp_failure why) = 0;
        /// Nothing travels any more. At most once, nothing follows.
        virtual void on_closed(mcp_failure why) = 0;
    };

    virtual ~mcp_channel() = default;

    /// First, once. `to` must live until close() was called. A failure: close() all the same.
    [[nodiscard]] virtual std::optional<mcp_failure> open(receiver& to) = 0;
    /// `request`: the id, if the text is a request.
    virtual void send(std::string text, std::optional<std::int64_t> request) = 0;
    /// Sends a notification and returns once the server has it, as far as the channel can tell.
    [[nodiscard]] virtual boost::asio::awaitable<std::optional<mcp_failure>>
    deliver(std::string text) = 0;
    /// The answer to this request is not, or no longer, waited for.
    virtual void forget(std::int64_t request) = 0;
    /// The revision of the protocol that both sides speak from here on.
    virtual void use_version(std::string_view version) = 0;
    /// The session is ready: the server may now send on its own.
    virtual void listen() = 0;
    /// Ends everything; the receiver hears nothing more from the moment of the call. Returns once
    /// the server was told, within a few seconds.
    [[nodiscard]] virtual boost::asio::awaitable<void> close() = 0;
};

} // namespace agui::runner
