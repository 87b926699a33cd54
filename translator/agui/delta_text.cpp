#include "translator/agui/delta_text.hpp"

#include <cstddef>

namespace agui::translator {

std::optional<std::string_view> plain_delta_text(std::string_view rest) noexcept {
    std::size_t at = 0;
    while (at < rest.size() && rest[at] != '"') {
        at += rest[at] == '\\' ? 2 : 1;
    }
    if (at >= rest.size() || rest.substr(at) != delta_end) {
        return std::nullopt;
    }
    return rest.substr(0, at);
}

} // namespace agui::translator
