#pragma once

#include "runner/anthropic/anthropic_chat.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace agui::runner {

/// Appends a block for a content part that is not text: images and PDF documents by data, URL or
/// file handle, and documents of plain text. If the dialect has no form for the part or the
/// settings forbid it, returns false and appends nothing.
[[nodiscard]] bool append_media_block(
    std::string& out, const boost::json::object& part, const anthropic_settings& settings
);

} // namespace agui::runner
