#pragma once

#include "runner/openai/openai_chat.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace agui::runner {

/// Appends `separator` and a content part that is not text, as far as the dialect has a form for
/// it: images by URL or data, audio and documents by data, documents by a file handle. For anything
/// else, and for what the settings do not allow, nothing is appended and the result is false.
[[nodiscard]] bool append_media_part(
    std::string& out, const boost::json::object& part, std::string_view separator,
    const openai_settings& settings
);

} // namespace agui::runner
