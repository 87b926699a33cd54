#pragma once

#include "runner/mcp/mcp_channel.hpp"
#include "runner/mcp/mcp_client.hpp"
#include "runner/tools/caller_credentials.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/log.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

class mcp_link;

/// One MCP server: how to make its sessions, and its time limits.
struct mcp_server_settings {
    mcp_client_settings client; ///< `client.server` is also part of the names of its tools.
    /// Makes a new channel for each session.
    std::function<std::shared_ptr<mcp_channel>(boost::asio::any_io_executor)> channel;
    using headers = std::vector<std::pair<std::string, std::string>>;
    /// For all tools of the server.
    approval_rule approval = approval_rule::never;
    /// mcp_tool_digests::digest() of the list of tools that was accepted. While the server's list
    /// has another one, none of its tools is offered or called. A session with own headers calls
    /// only tools that its own list defines in the same way. A list that is older than session_idle
    /// is read again before a call. While no list can be read, nothing is called. Empty accepts any
    /// list.
    std::string digest = {};
    /// Header names of a run's request, in lower case. If a run has any of these headers, its call
    /// uses a session of its own, which sends them and ends with the call, so that a caller's
    /// credentials never serve another call. The list of tools, and calls without such headers, use
    /// the server's common session.
    std::vector<std::string> pass_headers = {};
    /// Makes the channel of such a session. Required with pass_headers and with callers.
    std::function<std::shared_ptr<mcp_channel>(boost::asio::any_io_executor, headers)> own_channel =
        {};
    /// With these, each call is made in a session with its caller's credentials, made by
    /// own_channel. Such a session serves later calls of the same caller with the same headers,
    /// one at a time, until nothing has used it for session_idle.
    caller_credentials callers = {};
    std::chrono::milliseconds session_idle{300'000};
    std::size_t idle_sessions_max = 64; ///< Above it, the one that is idle for longest is ended.
    /// Pause between two attempts to begin a session. It doubles up to reconnect_max.
    std::chrono::milliseconds reconnect_min{1'000};
    std::chrono::milliseconds reconnect_max{60'000};
    /// How long a call waits for a session that is being renewed.
    std::chrono::milliseconds reconnect_wait{5'000};
    /// Minimum time between two requests for the list of tools, for a server that keeps reporting
    /// changes.
    std::chrono::milliseconds list_pause{1'000};
};

/// Keeps the tools of MCP servers in a registry: begins a session with each server, lists its
/// tools, lists them again when they change, and begins another session, after a growing pause,
/// when one is over. The tools of an unreachable server stay registered, and their calls give error
/// results, until a new list replaces them. A server's failure never fails a run and never causes
/// an exception here.
///
/// Used on one executor, which one thread runs; the tools may be called on any. `tools` and `log`
/// must outlive this object and all operations that continue after stop().
class mcp_tools {
public:
    mcp_tools(
        boost::asio::any_io_executor executor, std::vector<mcp_server_settings> servers,
        tool_registry& tools, logger& log
    );
    ~mcp_tools();
    mcp_tools(const mcp_tools&) = delete;
    mcp_tools& operator=(const mcp_tools&) = delete;

    /// Call it once, on the executor. Returns once each server was tried, or after `wait`; the
    /// remaining attempts then continue.
    [[nodiscard]] boost::asio::awaitable<void> start(std::chrono::milliseconds wait);

    /// Puts `digest` in the place of mcp_server_settings::digest of that server, which then lists
    /// its tools again, as often as it takes. If it is not that of the last list, the tools are
    /// withdrawn at once. Ignored if there is no such server. May be called on any thread.
    void accept(std::string_view server, const std::string& digest);

    /// Ends all sessions; pending calls get error results. Returns within a few seconds, once all
    /// server processes are gone. Call it on the executor, any number of times.
    [[nodiscard]] boost::asio::awaitable<void> stop();

private:
    boost::asio::any_io_executor executor_;
    std::vector<std::shared_ptr<mcp_link>> links_; ///< Fixed; each link is used on the executor.
};

} // namespace agui::runner
