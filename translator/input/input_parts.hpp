#pragma once

#include "session/base/error.hpp"

#include <boost/json/array.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// The content parts at `path` as input_messages.hpp says. Failures: invalid_input.
[[nodiscard]] result<boost::json::array>
read_parts(const boost::json::array& given, std::string_view path, std::vector<std::string>& notes);

} // namespace agui::translator
