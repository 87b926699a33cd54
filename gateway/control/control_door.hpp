#pragma once

#include "gateway/auth/current_authenticator.hpp"
#include "gateway/control/control_routes.hpp"
#include "gateway/control/control_socket.hpp"
#include "gateway/http/connection_group.hpp"
#include "gateway/http/connection_places.hpp"
#include "gateway/http/memory_queue.hpp"
#include "session/base/log.hpp"
#include "session/base/memory_budget.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>

namespace agui::gateway {

/// The control socket and its connections, which have routes of their own. The users at their other
/// ends are known to the kernel, so nobody needs a token. Used on its executor only; must live
/// until that has no more work.
class control_door {
public:
    /// The references must outlive it. Throws as control_socket does.
    control_door(
        const boost::asio::any_io_executor& executor, const std::string& path, control_parts parts,
        logger& log, memory_budget& memory, memory_queue& large_bodies
    );
    ~control_door();
    control_door(const control_door&) = delete;
    control_door& operator=(const control_door&) = delete;

    /// Accepts until close().
    [[nodiscard]] boost::asio::awaitable<void> run() { return socket_.run(); }
    void close() { socket_.close(); }
    /// connection_group::shut_down()
    void shut_down(std::chrono::steady_clock::time_point deadline);

private:
    struct guest;
    void add(boost::asio::ip::tcp::socket socket, ::uid_t user);
    [[nodiscard]] guest& guest_of(::uid_t user);

    const boost::asio::any_io_executor executor_;
    logger& log_;
    memory_budget& memory_;
    memory_queue& large_bodies_;
    const router routes_;
    connection_places places_;
    std::map<::uid_t, std::unique_ptr<guest>> guests_; ///< At most two: the own user, and root.
    control_socket socket_;                            ///< Last: it calls add().
};

} // namespace agui::gateway
