#pragma once

#include "translator/input/run_input.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// Reads the settings in forwardedProps (`bag`). Other software puts members there too, so a member
/// with a wrong type or value is ignored with a note.
[[nodiscard]] forwarded_settings read_forwarded(
    const boost::json::value& bag, const input_limits& limits, std::vector<std::string>& notes
);

/// True for the name of a member that may hold a credential or a server's address. Requests are
/// stored, compared and recorded without such members, and never choose a URL or a key.
[[nodiscard]] bool is_secret_name(std::string_view key);

} // namespace agui::translator
