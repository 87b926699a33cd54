#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// True if a URL may be passed on to a model server: its scheme is one of `schemes`, which are in
/// lower case, or it is a `data:` URL, which carries its bytes.
[[nodiscard]] bool is_media_url(std::string_view url, const std::vector<std::string>& schemes);

} // namespace agui::runner
