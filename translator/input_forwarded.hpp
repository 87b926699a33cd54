#pragma once

#include "translator/run_input.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <vector>

namespace agui::translator {

/// The settings in forwardedProps. It is an open bag that other software fills too: what has a
/// wrong type or value is ignored with a note.
[[nodiscard]] forwarded_settings
read_forwarded(const boost::json::value& bag, std::vector<std::string>& notes);

/// Removes what may be a credential or an address of one, at any depth: a request is stored,
/// compared and recorded, and never chooses a URL or a key (design section 7).
void drop_secrets(boost::json::value& bag);

} // namespace agui::translator
