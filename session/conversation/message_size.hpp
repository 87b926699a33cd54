#pragma once

#include "session/conversation/message.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>

namespace agui::session {

/// About how many bytes a message takes as it is stored, in JSON, and never more than that: found
/// without writing it. Looks no further once the result is above `most`.
[[nodiscard]] std::size_t stored_size(const message& value, std::size_t most = SIZE_MAX);
/// The same of any JSON.
[[nodiscard]] std::size_t stored_size(const boost::json::value& value, std::size_t most = SIZE_MAX);
[[nodiscard]] std::size_t stored_size(const boost::json::array& value, std::size_t most = SIZE_MAX);
[[nodiscard]] std::size_t
stored_size(const boost::json::object& value, std::size_t most = SIZE_MAX);

} // namespace agui::session
