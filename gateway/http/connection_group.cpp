#include "gateway/http/connection_group.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds longest_sweep_period{250};

/// Short enough for the shortest deadline.
std::chrono::milliseconds sweep_period(const connection_limits& limits) {
    const auto shortest = std::min(
        {limits.header, limits.body, limits.body_idle, limits.stall, limits.reply, limits.heartbeat,
         limits.linger}
    );
    return std::clamp(shortest / 4, std::chrono::milliseconds(5), longest_sweep_period);
}

} // namespace

connection_group::connection_group(
    asio::any_io_executor executor, const connection_services& services
)
    : executor_(std::move(executor)),
      services_(services),
      sweep_period_(sweep_period(services.limits)),
      now_(std::chrono::steady_clock::now()),
      timer_(executor_) {}

void connection_group::add(
    asio::ip::tcp::socket socket, std::unique_ptr<connection_places::place> place
) {
    if (!sweeping_) {
        now_ = std::chrono::steady_clock::now();
    }
    auto connection =
        std::make_shared<http_connection>(std::move(socket), std::move(place), services_, now_);
    connections_.insert(connection);
    if (shutting_down_) {
        connection->finish();
    }
    asio::co_spawn(
        executor_, connection->run(),
        [this, connection](const std::exception_ptr& thrown) {
            if (thrown) {
                connection->abort();
                try {
                    std::rethrow_exception(thrown);
                } catch (const std::exception& error) {
                    services_.log.log(
                        log_level::error, "connection failed", {{"error", error.what()}}
                    );
                }
            }
            remove(connection);
        }
    );
    schedule_sweep();
}

void connection_group::remove(const std::shared_ptr<http_connection>& connection) {
    connections_.erase(connection);
    if (connections_.empty()) {
        timer_.cancel();
    }
}

void connection_group::schedule_sweep() {
    if (sweeping_ || connections_.empty()) {
        return;
    }
    sweeping_ = true;
    timer_.expires_after(sweep_period_);
    timer_.async_wait([this](boost::system::error_code) {
        sweeping_ = false;
        sweep();
        schedule_sweep();
    });
}

void connection_group::sweep() {
    now_ = std::chrono::steady_clock::now();
    services_.large_bodies.serve();
    const bool over = shutting_down_ && now_ >= shutdown_deadline_;
    // The call may end the connection and remove it from the set at once.
    for (auto next = connections_.begin(); next != connections_.end();) {
        const std::shared_ptr<http_connection> connection = *next++;
        if (over) {
            connection->abort();
        } else {
            connection->sweep();
        }
    }
}

void connection_group::shut_down(std::chrono::steady_clock::time_point deadline) {
    shutting_down_ = true;
    shutdown_deadline_ = deadline;
    for (auto next = connections_.begin(); next != connections_.end();) {
        const std::shared_ptr<http_connection> connection = *next++;
        connection->finish();
    }
}

} // namespace agui::gateway
