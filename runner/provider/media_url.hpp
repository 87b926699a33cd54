#pragma once

#include "session/conversation/media_part.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// True if a URL may be passed on to a model server: its scheme is one of `schemes`, which are in
/// lower case, or it is a `data:` URL, which carries its bytes.
[[nodiscard]] bool is_media_url(std::string_view url, const std::vector<std::string>& schemes);

/// True if the settings of a dialect let a part's source pass: data, a URL as is_media_url() says,
/// and a handle if they allow handles and the server is the one that made it (specification S7).
template <class DialectSettings>
[[nodiscard]] bool may_pass(const session::media_part& part, const DialectSettings& settings) {
    switch (part.from) {
    case session::media_part::source::data:
        return true;
    case session::media_part::source::url:
        return is_media_url(part.value, settings.media_urls);
    case session::media_part::source::file:
        return settings.file_sources &&
               (part.provider.empty() || part.provider == settings.provider_name);
    case session::media_part::source::none:
        break;
    }
    return false;
}

/// Appends the bytes of a part as a `data:` URL, with quotes.
void append_data_url(std::string& out, const session::media_part& from);

} // namespace agui::runner
