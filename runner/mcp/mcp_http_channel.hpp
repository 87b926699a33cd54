#pragma once

#include "runner/mcp/mcp_channel.hpp"
#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {

struct mcp_http_settings {
    std::string url; ///< URL of the server's endpoint; may have a query.
    std::vector<std::pair<std::string, std::string>> headers; ///< Sent with every request.
    std::string ca_file; ///< PEM file of certificates to trust besides the system's; may be empty.
    std::chrono::milliseconds connect_timeout{10'000};
    /// Pause between two attempts to open the stream of the server's own messages. It doubles up to
    /// reopen_max.
    std::chrono::milliseconds reopen_min{1'000};
    std::chrono::milliseconds reopen_max{30'000};
    memory_budget* budget = nullptr; ///< Counts the kept bytes of answers; may be null.
};

/// Makes channels to one server over streamable HTTP. make() fails with errc::invalid_input if the
/// URL, the headers or the ca_file cannot be used.
class mcp_http_endpoint {
public:
    [[nodiscard]] static result<mcp_http_endpoint> make(mcp_http_settings settings);

    using headers = std::vector<std::pair<std::string, std::string>>;

    /// A new channel for one session. Its requests also send the headers `own`.
    [[nodiscard]] std::shared_ptr<mcp_channel>
    channel(boost::asio::any_io_executor executor, headers own = {}) const;

private:
    struct parts;
    explicit mcp_http_endpoint(std::shared_ptr<const parts> made) : parts_(std::move(made)) {}

    std::shared_ptr<const parts> parts_;

    friend class mcp_http_channel;
};

} // namespace agui::runner
