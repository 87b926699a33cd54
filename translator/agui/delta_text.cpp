#include "translator/agui/delta_text.hpp"

#include <cstddef>

namespace agui::translator {

std::optional<std::string_view> plain_delta_text(std::string_view rest) noexcept {
    if (!rest.ends_with(delta_end)) {
        return std::nullopt;
    }
    const std::string_view text = rest.substr(0, rest.size() - delta_end.size());
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t escape = text.find('\\', at);
        if (text.substr(at, escape - at).find('"') != std::string_view::npos) {
            return std::nullopt;
        }
        if (escape == std::string_view::npos) {
            return text;
        }
        at = escape + 2;
    }
    return std::nullopt; // The last quote is escaped.
}

} // namespace agui::translator
