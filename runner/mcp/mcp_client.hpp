#pragma once

#include "runner/mcp/mcp_channel.hpp"
#include "runner/mcp/mcp_message.hpp"
#include "runner/mcp/mcp_tool_list.hpp"
#include "session/base/log.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

struct mcp_client_settings {
    std::string server;         ///< Its name in the configuration, for the log.
    std::string client_version; ///< Of the gateway, which the server is told.
    std::chrono::milliseconds connect_timeout{10'000}; ///< For each step of the handshake.
    std::chrono::milliseconds call_timeout{30'000};    ///< Without an answer or progress.
    /// However much progress there is. The call timeout if that is longer.
    std::chrono::milliseconds call_max{600'000};
    std::chrono::milliseconds ping_timeout{10'000};
};

/// One MCP session: requests and their answers, over one channel. It never comes back: after its
/// end another client, with another channel, begins a new session.
///
/// Lives on one executor, run by one thread. Owned by shared_ptr; close() must be called before the
/// last owner leaves. What the server asks of us is refused, except for ping.
class mcp_client final : public std::enable_shared_from_this<mcp_client>,
                         private mcp_channel::receiver {
public:
    /// `changed` is called when the session is over, or the server says that its tools are others
    /// now; not after close(). `log` outlives the client.
    mcp_client(
        boost::asio::any_io_executor executor, std::shared_ptr<mcp_channel> channel,
        mcp_client_settings settings, logger& log, std::function<void()> changed
    );

    /// First, once: opens the channel and shakes hands. Nothing: the session is ready.
    [[nodiscard]] boost::asio::awaitable<std::optional<mcp_failure>> connect();

    struct tool_list {
        std::vector<mcp_tool> tools;
        std::size_t left_out = 0; ///< Tools that cannot be offered.
    };
    /// All pages. No tools if the server has none.
    [[nodiscard]] boost::asio::awaitable<mcp_result<tool_list>> list_tools();

    /// Calls a tool. Cancelled (terminal), it tells the server and returns `cancelled` at once.
    [[nodiscard]] boost::asio::awaitable<mcp_result<boost::json::object>>
    call_tool(std::string_view name, boost::json::object arguments);

    /// Asks for a sign of life. False: there is none, the session is over.
    [[nodiscard]] boost::asio::awaitable<bool> check();

    /// Why the session is over; null: it is not.
    [[nodiscard]] const mcp_failure* closed() const noexcept {
        return closed_ ? &*closed_ : nullptr;
    }
    /// Whether the server has said so since this was last asked.
    [[nodiscard]] bool take_tools_changed() noexcept;

    /// Ends the session: what is under way ends as `closed`. Any number of times.
    [[nodiscard]] boost::asio::awaitable<void> close();

private:
    using clock = std::chrono::steady_clock;

    struct pending {
        explicit pending(const boost::asio::any_io_executor& executor) : timer(executor) {}
        boost::asio::steady_timer timer;
        clock::time_point deadline;
        std::optional<mcp_result<boost::json::object>> answer;
        bool progresses = false; ///< The server may say that it is at work.
        bool probe = false;      ///< It asks for a sign of life itself.
    };
    struct wait_limits {
        std::chrono::milliseconds timeout{};
        bool progress = false;
        bool probe = false;
    };

    [[nodiscard]] boost::asio::awaitable<mcp_result<boost::json::object>>
    request(std::string_view method, boost::json::object params, wait_limits limits);
    [[nodiscard]] boost::asio::awaitable<void> wait_for(pending& entry, clock::time_point last);
    void give_up(std::int64_t id, std::string_view method, std::string_view reason);
    [[nodiscard]] std::optional<mcp_failure> accept(const boost::json::object& greeting);

    void on_message(std::string_view text) override;
    void on_unanswered(std::int64_t id, mcp_failure why) override;
    void on_closed(mcp_failure why) override;

    void handle(mcp_message message);
    void refuse_or_pong(const mcp_message& asked);
    void notice(const mcp_message& told);
    void settle(std::int64_t id, mcp_result<boost::json::object> answer);
    void check_soon();
    void end(mcp_failure why);

    boost::asio::any_io_executor executor_;
    std::shared_ptr<mcp_channel> channel_;
    mcp_client_settings settings_;
    logger& log_;
    std::function<void()> changed_;
    std::map<std::int64_t, std::shared_ptr<pending>> pending_;
    std::int64_t last_id_ = 0;
    clock::time_point last_sign_; ///< When the server last sent a message.
    std::string version_;         ///< Of the protocol; empty: not ready yet.
    bool has_tools_ = false;
    bool tools_changed_ = false;
    bool checking_ = false;
    bool shut_ = false; ///< close() was called.
    std::optional<mcp_failure> closed_;
};

} // namespace agui::runner
