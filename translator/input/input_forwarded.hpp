#pragma once

#include "translator/input/run_input.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// The settings in forwardedProps. It is an open bag that other software fills too: what has a
/// wrong type or value is ignored with a note.
[[nodiscard]] forwarded_settings
read_forwarded(const boost::json::value& bag, std::vector<std::string>& notes);

/// True for what may be a credential or an address of one: a request is stored, compared and
/// recorded, and never chooses a URL or a key (design section 7).
[[nodiscard]] bool is_secret_name(std::string_view key);

} // namespace agui::translator
