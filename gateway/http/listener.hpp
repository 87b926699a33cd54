#pragma once

#include "gateway/base/log_interval.hpp"
#include "gateway/http/connection_places.hpp"
#include "session/base/log.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace agui::gateway {

/// Address and port of a `server.listen` value: an IP literal (IPv6 in brackets) or `localhost`.
/// Throws std::invalid_argument for anything else.
[[nodiscard]] boost::asio::ip::tcp::endpoint parse_endpoint(const std::string& listen);

/// Accepts connections and gives them to the I/O threads in turn. Used on its executor only. Must
/// live until the targets' executors have no more work.
class listener {
public:
    struct target {
        boost::asio::any_io_executor executor;
        /// Called on `executor`.
        std::function<void(boost::asio::ip::tcp::socket, std::unique_ptr<connection_places::place>)>
            add;
    };

    using admit_function =
        std::function<connection_places::admission(const boost::asio::ip::address&)>;

    /// Binds at once. Throws boost::system::system_error if the address cannot be used. `admit` is
    /// called for each connection with the peer's address; a connection without a place gets the
    /// refusal_of() its shortage and is closed.
    listener(
        const boost::asio::any_io_executor& executor, const boost::asio::ip::tcp::endpoint& where,
        std::vector<target> targets, admit_function admit, logger& log
    );

    [[nodiscard]] boost::asio::ip::tcp::endpoint endpoint() const { return endpoint_; }

    /// Accepts until close().
    [[nodiscard]] boost::asio::awaitable<void> run();
    void close();

private:
    void warn_of_shortage(connection_places::shortage why, const boost::asio::ip::address& peer);
    void turn_away(boost::asio::ip::tcp::socket socket, connection_places::shortage why);

    boost::asio::ip::tcp::acceptor acceptor_;
    boost::asio::ip::tcp::endpoint endpoint_;
    std::vector<target> targets_;
    admit_function admit_;
    logger& log_;
    std::size_t next_ = 0;
    log_interval not_accepted_{std::chrono::minutes(1)};
    log_interval full_{std::chrono::minutes(1)};
    log_interval client_full_{std::chrono::minutes(1)};
};

} // namespace agui::gateway
