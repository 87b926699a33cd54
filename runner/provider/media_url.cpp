#include "runner/provider/media_url.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <cstddef>

namespace agui::runner {

bool is_media_url(std::string_view url, const std::vector<std::string>& schemes) {
    const std::size_t colon = url.find(':');
    if (colon == std::string_view::npos) {
        return false;
    }
    const std::string scheme = to_lower(url.substr(0, colon));
    return scheme == "data" || std::ranges::find(schemes, scheme) != schemes.end();
}

} // namespace agui::runner
