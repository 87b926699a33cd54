#pragma once

#include "runner/mcp/mcp_accepted_tools.hpp"
#include "runner/mcp/mcp_call_result.hpp"
#include "runner/mcp/mcp_client.hpp"
#include "runner/mcp/mcp_tools.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// One MCP server of mcp_tools: its successive sessions, and its tools in the registry. Used on its
/// executor; the tools may be called on any.
class mcp_link : public std::enable_shared_from_this<mcp_link> {
public:
    using clock_point = std::chrono::steady_clock::time_point;

    mcp_link(
        boost::asio::any_io_executor executor, mcp_server_settings settings, tool_registry& tools,
        logger& log
    );

    /// Its configured name. May be called on any thread.
    [[nodiscard]] const std::string& server() const noexcept { return settings_.client.server; }

    /// Keeps a session open until stop(). Call it once.
    [[nodiscard]] boost::asio::awaitable<void> run();
    /// Returns once the first attempt to begin a session has succeeded or failed, or at `deadline`.
    [[nodiscard]] boost::asio::awaitable<void> wait_tried(clock_point deadline);
    /// See mcp_tools::accept().
    void accept(const std::string& digest);
    /// Ends the session. Returns once run() has returned.
    [[nodiscard]] boost::asio::awaitable<void> stop();

    /// A call of one of the server's tools.
    struct tool_call {
        std::string tool;
        std::string definition;   ///< mcp_tool_digest() of the definition that was offered.
        std::string resource_uri; ///< mcp_tool::resource_uri
        boost::json::object arguments;
        std::vector<boost::json::value> inputs; ///< tool_invocation::inputs
        mcp_server_settings::headers headers;
        /// Names the caller and the headers if the session may serve later calls; else empty.
        std::string session_key = {};
        mcp_client::progress_handler on_progress; ///< Called on the link's executor.
    };
    /// If there are headers, the call uses a session of its own.
    [[nodiscard]] boost::asio::awaitable<tool_outcome> call(tool_call what);

private:
    [[nodiscard]] boost::asio::awaitable<mcp_failure> session();
    [[nodiscard]] boost::asio::awaitable<std::optional<mcp_failure>> list(mcp_client& client);
    [[nodiscard]] boost::asio::awaitable<void> pause_before_next(clock_point begun);
    [[nodiscard]] boost::asio::awaitable<std::shared_ptr<mcp_client>>
    session_until(clock_point deadline);
    [[nodiscard]] bool may_call(const mcp_client& in) const;
    [[nodiscard]] boost::asio::awaitable<tool_outcome> call_alone(tool_call what);
    [[nodiscard]] boost::asio::awaitable<tool_outcome>
    read_result(boost::json::object answer, mcp_app_call app);
    [[nodiscard]] mcp_app_call app_of(tool_call what) const;
    /// The last list of a session.
    struct listing {
        bool is_read = false;      ///< It was read to its end.
        std::uint64_t notices = 0; ///< mcp_client::tools_notices() when it was requested.
        clock_point requested = {};
    };
    [[nodiscard]] bool is_current(const listing& list, const mcp_client& of) const;
    /// A session with a caller's credentials.
    struct caller_session {
        std::shared_ptr<mcp_client> client;
        listing list = {};             ///< Compared with the last one of the link's own session.
        std::uint64_t compared_at = 0; ///< news_count_ at that time.
        bool is_changed = false;       ///< That list defines an accepted tool in another way.
        /// The tools of that list with accepted definitions; empty if is_changed.
        std::set<std::string, std::less<>> accepted = {};
    };
    [[nodiscard]] caller_session begin_own(mcp_server_settings::headers headers);
    [[nodiscard]] caller_session take_idle(std::string_view key);
    [[nodiscard]] boost::asio::awaitable<mcp_result<boost::json::object>>
    call_in(caller_session& in, bool is_new, const tool_call& what);
    [[nodiscard]] boost::asio::awaitable<std::optional<mcp_failure>>
    check_definition(caller_session& in, const tool_call& what);
    [[nodiscard]] bool is_compared(const caller_session& in) const;
    [[nodiscard]] std::optional<mcp_failure>
    check_accepted(const caller_session& in, std::string_view tool);
    [[nodiscard]] boost::asio::awaitable<std::optional<mcp_failure>> compare(caller_session& in);
    void keep_idle(caller_session session, std::string key);
    void end_idle();
    void begin_leaving(std::shared_ptr<mcp_client> client, bool cancelled);
    [[nodiscard]] tool_function function_of(mcp_tool tool);
    void register_tools(mcp_client::tool_list list, bool is_repeated);
    void report(const mcp_failure& why);
    void tell();
    [[nodiscard]] boost::asio::awaitable<void> news(clock_point until);

    boost::asio::any_io_executor executor_;
    mcp_server_settings settings_;
    tool_registry& tools_;
    logger& log_;
    boost::asio::steady_timer news_;     ///< Cancelled when a member below changes.
    std::shared_ptr<mcp_client> client_; ///< Client of the session that is ready; may be null.
    std::shared_ptr<mcp_client> latest_; ///< Like client_, but set during the handshake, too.
    /// A session that waits for the next call of its caller.
    struct idle_session {
        caller_session session;
        std::string key; ///< tool_call::session_key
        clock_point since;
    };
    std::set<std::shared_ptr<mcp_client>> own_; ///< Clients of calls with sessions of their own.
    std::deque<idle_session> idle_;             ///< Also in own_; the longest idle one is first.
    boost::asio::steady_timer idle_end_;        ///< For the first of them.
    std::chrono::milliseconds pause_;           ///< Pause before the next session.
    std::string reported_;                      ///< The last warning; it is not repeated.
    listing list_;                              ///< Of the session that is ready.
    mcp_accepted_tools accepted_;
    /// Counts the digests, the lists of the link's own sessions, and what these sessions report.
    std::uint64_t news_count_ = 0;
    bool lists_again_ = false; ///< The list has to be compared once more.
    bool wanted_ = false;      ///< A call waits for a session.
    bool tried_ = false;
    bool stopping_ = false;
    bool running_ = false;
};

} // namespace agui::runner
