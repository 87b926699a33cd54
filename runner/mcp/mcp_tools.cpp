#include "runner/mcp/mcp_tools.hpp"

#include "runner/mcp/mcp_link.hpp"
#include "session/base/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

mcp_tools::mcp_tools(
    asio::any_io_executor executor, std::vector<mcp_server_settings> servers, tool_registry& tools,
    logger& log
)
    : executor_(std::move(executor)) {
    for (mcp_server_settings& each : servers) {
        links_.push_back(std::make_shared<mcp_link>(executor_, std::move(each), tools, log));
    }
}

mcp_tools::~mcp_tools() = default;

asio::awaitable<void> mcp_tools::start(std::chrono::milliseconds wait) {
    for (const auto& link : links_) {
        asio::co_spawn(executor_, link->run(), asio::detached);
    }
    const auto deadline = std::chrono::steady_clock::now() + wait;
    for (const auto& link : links_) {
        co_await link->wait_tried(deadline);
    }
}

void mcp_tools::accept(std::string_view server, const std::string& digest) {
    for (const auto& link : links_) {
        if (link->server() == server) {
            asio::post(executor_, [link, digest] { link->accept(digest); });
            return;
        }
    }
}

asio::awaitable<void> mcp_tools::stop() {
    // All at the same time, because each may take seconds.
    const auto left = std::make_shared<std::size_t>(links_.size());
    const auto done =
        std::make_shared<asio::steady_timer>(executor_, asio::steady_timer::time_point::max());
    for (const auto& link : links_) {
        asio::co_spawn(executor_, link->stop(), [left, done](const std::exception_ptr&) {
            --*left;
            done->cancel();
        });
    }
    while (*left > 0) {
        co_await done->async_wait(as_result);
    }
}

} // namespace agui::runner
