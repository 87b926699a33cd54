#pragma once

#include "runner/responses/responses_chat.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace agui::runner {

/// Appends a content part that is not text: images and documents by URL, data or file handle. If
/// the dialect has no form for the part or the settings forbid it, returns false and appends
/// nothing.
[[nodiscard]] bool append_input_part(
    std::string& out, const boost::json::object& part, const responses_settings& settings
);

} // namespace agui::runner
