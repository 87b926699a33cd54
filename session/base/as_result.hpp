#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace agui {

/// With this token, awaiting an operation gives its error code and values as a tuple and does not
/// throw.
inline constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

} // namespace agui
