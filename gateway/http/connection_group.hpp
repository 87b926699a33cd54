#pragma once

#include "gateway/http/http_connection.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>
#include <unordered_set>

namespace agui::gateway {

/// The connections of one I/O thread: owns them, checks their deadlines a few times a second while
/// there are any, and ends them. All functions are called on the group's executor. Must outlive its
/// connections: it may be destroyed once the executor's context has no more work.
class connection_group {
public:
    connection_group(boost::asio::any_io_executor executor, const connection_services& services);

    /// Serves a connection until it ends, which frees its place. The socket must use the group's
    /// executor.
    void add(boost::asio::ip::tcp::socket socket, std::unique_ptr<connection_places::place> place);

    /// Closes idle connections, lets others complete their reply, and at `deadline` aborts the
    /// rest.
    void shut_down(std::chrono::steady_clock::time_point deadline);

private:
    void remove(const std::shared_ptr<http_connection>& connection);
    void schedule_sweep();
    void sweep();

    boost::asio::any_io_executor executor_;
    const connection_services& services_;
    std::chrono::milliseconds sweep_period_;
    std::chrono::steady_clock::time_point now_;
    std::chrono::steady_clock::time_point shutdown_deadline_;
    bool shutting_down_ = false;
    bool sweeping_ = false;
    std::unordered_set<std::shared_ptr<http_connection>> connections_;
    boost::asio::steady_timer timer_;
};

} // namespace agui::gateway
