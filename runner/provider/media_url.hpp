#pragma once

#include "session/conversation/media_part.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// True if a URL may be passed on to a model server: its scheme is one of `schemes`, which are in
/// lower case, or it is a `data:` URL, which carries its bytes.
[[nodiscard]] bool is_media_url(std::string_view url, const std::vector<std::string>& schemes);

/// Appends the bytes of a part as a `data:` URL, with quotes.
void append_data_url(std::string& out, const session::media_part& from);

} // namespace agui::runner
