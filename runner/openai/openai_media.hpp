#pragma once

#include "runner/openai/openai_chat.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace agui::runner {

/// Appends `separator` and a content part that is not text: images by URL or data, audio and
/// documents by data, documents by a file handle. If the dialect has no form for the part or the
/// settings forbid it, returns false and appends nothing.
[[nodiscard]] bool append_media_part(
    std::string& out, const boost::json::object& part, std::string_view separator,
    const openai_settings& settings
);

} // namespace agui::runner
