#include "session/base/json_member.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace agui::session {

namespace {

// Writes the name in snake_case; returns its length, or 0 if it does not fit.
std::size_t write_snake_case(std::string_view name, char* out, std::size_t room) noexcept {
    std::size_t length = 0;
    for (const char c : name) {
        if (length + 2 > room) {
            return 0;
        }
        if (is_upper(c)) {
            out[length++] = '_';
        }
        out[length++] = to_lower(c);
    }
    return length;
}

} // namespace

std::string snake_case(std::string_view camel_case) {
    std::string out(2 * camel_case.size() + 2, '\0');
    out.resize(write_snake_case(camel_case, out.data(), out.size()));
    return out;
}

result<void> check_protocol_object(const boost::json::object& object) {
    if (object.size() > protocol_members_max) {
        return failure{
            errc::invalid_input,
            "must not have more than " + std::to_string(protocol_members_max) + " members"
        };
    }
    return {};
}

const boost::json::value*
find_member(const boost::json::object& object, std::string_view key) noexcept {
    const boost::json::value* value = object.if_contains(key);
    if ((value == nullptr || value->is_null()) && std::ranges::any_of(key, is_upper)) {
        std::array<char, 64> snake{}; // The longest name of AG-UI has 18 characters.
        const std::size_t length = write_snake_case(key, snake.data(), snake.size());
        value = object.if_contains(std::string_view(snake.data(), length));
    }
    return value == nullptr || value->is_null() ? nullptr : value;
}

} // namespace agui::session
