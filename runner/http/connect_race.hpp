#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <vector>

namespace agui::runner {

/// The addresses in the order in which they are tried (RFC 8305, 4): IPv4 and IPv6 alternate,
/// beginning with the family of the first address, otherwise in the given order.
[[nodiscard]] std::vector<boost::asio::ip::address>
in_turn(const std::vector<boost::asio::ip::address>& found);

/// The result of a connection attempt.
struct race_outcome {
    /// Success, timed_out, operation_aborted (cancelled), or the error of the last attempt.
    boost::system::error_code ec;
    boost::asio::ip::tcp::socket socket;
};

/// Connects to the first endpoint that answers (RFC 8305, 5). Each attempt begins `delay` after the
/// previous one, or at once when all earlier ones have failed. The first connection wins; the
/// others are closed. At least one endpoint is required.
[[nodiscard]] boost::asio::awaitable<race_outcome> connect_first(
    std::vector<boost::asio::ip::tcp::endpoint> endpoints,
    std::chrono::steady_clock::time_point deadline,
    std::chrono::milliseconds delay = std::chrono::milliseconds(250)
);

} // namespace agui::runner
