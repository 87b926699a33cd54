#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The reply of a gateway to a request through its control socket.
struct control_reply {
    int status = 0;
    std::string body; ///< Empty if it was written elsewhere.
};

/// Sends requests through the control socket of a gateway, each on a connection of its own. Blocks.
/// All functions throw std::runtime_error if the gateway cannot be reached, or breaks off.
class control_client {
public:
    using parameters = std::vector<std::pair<std::string_view, std::string>>;

    /// `path` is that of the socket.
    explicit control_client(std::string path) : path_(std::move(path)) {}

    [[nodiscard]] control_reply send(
        std::string_view method, std::string_view path, const parameters& query = {},
        std::string body = {}
    );
    /// Writes the body of a GET to `out` as it comes, if the status is 200. Memory does not depend
    /// on its length.
    [[nodiscard]] control_reply
    copy(std::string_view path, const parameters& query, std::ostream& out);

private:
    [[nodiscard]] boost::asio::local::stream_protocol::socket connect();

    const std::string path_;
    boost::asio::io_context context_{1};
};

} // namespace agui::gateway
