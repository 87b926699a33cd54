#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <vector>

namespace agui::replay {

/// The messages that a client of the chat stream has after these incremental frames. A repeated
/// content is appended, unless it says `replace`; everything else is replaced.
[[nodiscard]] boost::json::array add_up(const std::vector<boost::json::object>& frames);

} // namespace agui::replay
