#pragma once

#include "runner/http/http_client.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>

namespace agui::runner {

// Only for the .cpp files of http_exchange.

/// Use as `cancelled(co_await this_coro::cancellation_state)`, which unlike other awaits does not
/// throw.
[[nodiscard]] inline bool cancelled(const boost::asio::cancellation_state& state) noexcept {
    return state.cancelled() != boost::asio::cancellation_type::none;
}

inline const transport_failure line_too_long{
    .what = transport_failure::kind::protocol, .detail = "a line of the answer is too long"
};

inline const transport_failure cancelled_before{
    .what = transport_failure::kind::cancelled, .detail = "cancelled"
};

} // namespace agui::runner
