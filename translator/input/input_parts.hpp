#pragma once

#include "session/base/error.hpp"

#include <boost/json/array.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// Reads the content parts at `path`, as described at read_messages(). Failures: invalid_input.
[[nodiscard]] result<boost::json::array>
read_parts(const boost::json::array& given, std::string_view path, std::vector<std::string>& notes);

} // namespace agui::translator
