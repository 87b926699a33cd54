#pragma once

#include "runner/mcp/mcp_channel.hpp"
#include "runner/mcp/mcp_message.hpp"
#include "runner/mcp/mcp_tool_list.hpp"
#include "session/base/heavy_work.hpp"
#include "session/base/log.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

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
    std::string server;         ///< Its configured name, for the log.
    std::string client_version; ///< The gateway's version, which is sent to the server.
    std::chrono::milliseconds connect_timeout{10'000}; ///< Time for each step of the handshake.
    /// Time until an answer or a progress notification.
    std::chrono::milliseconds call_timeout{30'000};
    /// Time until an answer, regardless of progress; at least call_timeout.
    std::chrono::milliseconds call_max{600'000};
    std::chrono::milliseconds ping_timeout{10'000};
    heavy_work* heavy = nullptr; ///< Reads large messages and counts all of them; may be null.
    /// If false, the server sends nothing on its own, such as notices of changed tools.
    bool listens = true;
};

/// One MCP session over one channel: requests and their answers. When it is over, a new session
/// needs a new client and channel.
///
/// Used on one executor, which one thread runs. Owned by shared_ptr; close() must be called before
/// the last owner releases it. The server's own requests are refused, except for ping.
class mcp_client final : public std::enable_shared_from_this<mcp_client>,
                         private mcp_channel::receiver {
public:
    /// `changed` is called when the session is over and when the server says that its tools have
    /// changed, but not after close(). `log` must outlive the client.
    mcp_client(
        boost::asio::any_io_executor executor, std::shared_ptr<mcp_channel> channel,
        mcp_client_settings settings, logger& log, std::function<void()> changed
    );

    /// Opens the channel and makes the handshake; to be called once, before all others. Returns
    /// nullopt if the session is ready.
    [[nodiscard]] boost::asio::awaitable<std::optional<mcp_failure>> connect();

    struct tool_list {
        std::vector<mcp_tool> tools;
        std::size_t left_out = 0; ///< Number of tools that cannot be offered.
        bool is_whole = true;     ///< False if the server did not give one of the later pages.
    };
    /// The tools on all pages of the server's list, even if the server declares no tools. The list
    /// ends at a page that the server does not give, or at a repeated cursor. Of tools whose names
    /// are shown alike (sound_text()) it has one, whatever their order.
    [[nodiscard]] boost::asio::awaitable<mcp_result<tool_list>> list_tools();

    /// Given the parameters of a notifications/progress of a call.
    using progress_handler = std::function<void(const boost::json::object& told)>;

    /// Calls a tool. If cancelled (terminal), it notifies the server and returns `cancelled` at
    /// once. `on_progress` may be empty; it is not called after this has returned. `inputs`: see
    /// inputs_member.
    [[nodiscard]] boost::asio::awaitable<mcp_result<boost::json::object>> call_tool(
        std::string_view name, boost::json::object arguments, progress_handler on_progress = {},
        std::vector<boost::json::value> inputs = {}
    );

    /// Sends a ping. Returns false if there is no sign of life; the session is then over.
    [[nodiscard]] boost::asio::awaitable<bool> check();

    /// Why the session is over; null if it is not.
    [[nodiscard]] const mcp_failure* closed() const noexcept {
        return closed_ ? &*closed_ : nullptr;
    }
    /// How often the server has said that its tools have changed.
    [[nodiscard]] std::uint64_t tools_notices() const noexcept { return tools_notices_; }

    /// Returns once the server was told of all abandoned requests, or at `until`.
    [[nodiscard]] boost::asio::awaitable<void> flush(std::chrono::steady_clock::time_point until);

    /// Ends the session: pending requests end as `closed`. May be called any number of times.
    [[nodiscard]] boost::asio::awaitable<void> close();

private:
    using clock = std::chrono::steady_clock;

    struct pending {
        explicit pending(const boost::asio::any_io_executor& executor) : timer(executor) {}
        boost::asio::steady_timer timer;
        clock::time_point deadline;
        std::optional<mcp_result<boost::json::object>> answer;
        bool progresses = false; ///< The server may send progress notifications.
        progress_handler on_progress{};
        bool probe = false; ///< The request only checks for a sign of life.
    };
    struct wait_limits {
        std::chrono::milliseconds timeout{};
        bool progress = false;
        bool probe = false;
        progress_handler on_progress{};
    };

    [[nodiscard]] boost::asio::awaitable<mcp_result<boost::json::object>>
    request(std::string_view method, boost::json::object params, wait_limits limits);
    [[nodiscard]] boost::asio::awaitable<void> wait_for(pending& entry, clock::time_point last);
    void give_up(std::int64_t id, std::string_view method, std::string_view reason);
    [[nodiscard]] std::optional<mcp_failure> accept(const boost::json::object& greeting);

    [[nodiscard]] boost::asio::awaitable<void> on_message(std::string text) override;
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
    std::string version_;         ///< Protocol revision; empty until the session is ready.
    bool declares_tools_ = false;
    std::uint64_t tools_notices_ = 0;
    bool checking_ = false;
    bool shut_ = false; ///< close() was called.
    std::optional<mcp_failure> closed_;
};

} // namespace agui::runner
