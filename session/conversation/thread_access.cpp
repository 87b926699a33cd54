#include "session/conversation/thread_access.hpp"

#include "session/base/id.hpp"

#include <algorithm>

namespace agui::session {

namespace {

constexpr std::string_view shared_prefix = "shared-";
constexpr std::size_t shared_random_bytes = 16;
constexpr std::string_view hex_digits = "0123456789abcdef";

} // namespace

std::string_view to_string(access_right right) noexcept {
    switch (right) {
    case access_right::read:
        return "read";
    case access_right::write:
        return "write";
    case access_right::approve:
        return "approve";
    }
    return "read";
}

std::optional<access_right> access_right_from_string(std::string_view text) noexcept {
    for (const access_right each :
         {access_right::read, access_right::write, access_right::approve}) {
        if (text == to_string(each)) {
            return each;
        }
    }
    return std::nullopt;
}

std::string make_shared_id() {
    std::string id(shared_prefix);
    for (const char each : random_bytes(shared_random_bytes)) {
        const auto byte = static_cast<unsigned char>(each);
        id.push_back(hex_digits[byte >> 4U]);
        id.push_back(hex_digits[byte & 0x0FU]);
    }
    return id;
}

bool is_shared_id(std::string_view text) noexcept {
    return text.size() == shared_prefix.size() + 2 * shared_random_bytes &&
           text.starts_with(shared_prefix) &&
           std::ranges::all_of(text.substr(shared_prefix.size()), [](char c) {
               return hex_digits.find(c) != std::string_view::npos;
           });
}

} // namespace agui::session
