#include "runner/provider/media_url.hpp"

#include "runner/base/json_text.hpp"
#include "session/base/ascii.hpp"
#include "session/base/contains.hpp"

#include <cstddef>

namespace agui::runner {

bool is_media_url(std::string_view url, const std::vector<std::string>& schemes) {
    const std::size_t colon = url.find(':');
    if (colon == std::string_view::npos) {
        return false;
    }
    const std::string scheme = to_lower(url.substr(0, colon));
    return scheme == "data" || contains(schemes, scheme);
}

void append_data_url(std::string& out, const session::media_part& from) {
    const std::string_view mime_type =
        from.mime_type.empty() ? std::string_view("application/octet-stream") : from.mime_type;
    std::string url;
    url.reserve(mime_type.size() + from.value.size() + 16);
    url.append("data:").append(mime_type).append(";base64,").append(from.value);
    append_json_string(out, url);
}

} // namespace agui::runner
