#include "gateway/http/http_message.hpp"

#include <algorithm>

namespace agui::gateway {

std::string_view http_request::header(std::string_view name) const noexcept {
    const auto found =
        std::ranges::find_if(headers, [name](const auto& field) { return field.first == name; });
    return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}

} // namespace agui::gateway
