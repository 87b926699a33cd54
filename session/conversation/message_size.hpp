#pragma once

#include "session/conversation/message.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>

namespace agui::session {

/// A close lower bound of the bytes that a message takes as stored JSON, computed without writing
/// it. Stops soon after the result has exceeded `most`.
[[nodiscard]] std::size_t stored_size(const message& value, std::size_t most = SIZE_MAX);
/// The same for any JSON value.
[[nodiscard]] std::size_t stored_size(const boost::json::value& value, std::size_t most = SIZE_MAX);
[[nodiscard]] std::size_t stored_size(const boost::json::array& value, std::size_t most = SIZE_MAX);
[[nodiscard]] std::size_t
stored_size(const boost::json::object& value, std::size_t most = SIZE_MAX);

} // namespace agui::session
