#include "gateway/http/http_message.hpp"

#include <algorithm>

namespace agui::gateway {

namespace {

// Enough for a message, a stop or a tool's answer.
constexpr std::size_t small_body_bytes = 64U << 10U;
// Most photos are smaller, so they need not wait behind larger bodies.
constexpr std::size_t ordinary_body_bytes = 2U << 20U;

} // namespace

memory_use memory_use_of_body(std::size_t bytes) noexcept {
    if (bytes > ordinary_body_bytes) {
        return memory_use::large;
    }
    return bytes > small_body_bytes ? memory_use::ordinary : memory_use::small;
}

std::string http_request::principal() const { return sender ? sender->principal : std::string(); }

std::string_view http_request::header(std::string_view name) const noexcept {
    const auto found =
        std::ranges::find_if(headers, [name](const auto& field) { return field.first == name; });
    return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}

std::string http_request::route_name() const {
    std::string name = method;
    if (!pattern.empty()) {
        name.append(" ").append(pattern);
    }
    return name;
}

} // namespace agui::gateway
