#pragma once

#include "session/base/error.hpp"
#include "translator/input/run_input.hpp"

#include <boost/json/value.hpp>

namespace agui::translator {

/// Reads the request's `tools` into `out.tools` and `out.tools_json`. Of two tools with the same
/// name the later one is kept, with a note. Failures: invalid_input.
[[nodiscard]] result<void>
read_tools(const boost::json::value& given, const input_limits& limits, run_input& out);

} // namespace agui::translator
