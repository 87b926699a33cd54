#include "translator/agui/protocol_version.hpp"

#include <algorithm>

namespace agui::translator {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The digits without leading zeros. A version number may have any length, so it is compared as
/// text.
std::string_view without_zeros(std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}

} // namespace

result<projection> choose_projection(const std::optional<std::string_view>& declared) {
    if (!declared) {
        return projection::undeclared;
    }
    const std::size_t dot = declared->find('.');
    if (dot == std::string_view::npos || !is_number(declared->substr(0, dot)) ||
        !is_number(declared->substr(dot + 1))) {
        return projection::v1_1; // An unparsable version is treated as newer (S2).
    }
    const std::string_view major = without_zeros(declared->substr(0, dot));
    if (major.empty()) {
        return projection::undeclared;
    }
    if (major != "1") {
        return failure{
            .code = errc::unsupported_protocol_version,
            .detail = "this server speaks the AG-UI protocol versions 1.0 and 1.1",
            .path = "protocolVersion",
            .active_run_id = {},
        };
    }
    const bool oldest = without_zeros(declared->substr(dot + 1)).empty();
    return oldest ? projection::v1_0 : projection::v1_1;
}

std::string_view to_string(projection value) noexcept {
    switch (value) {
    case projection::undeclared:
        return "undeclared";
    case projection::v1_0:
        return "1.0";
    case projection::v1_1:
        return "1.1";
    }
    return "undeclared";
}

std::optional<projection> projection_from_string(std::string_view name) noexcept {
    for (const projection value : {projection::undeclared, projection::v1_0, projection::v1_1}) {
        if (name == to_string(value)) {
            return value;
        }
    }
    return std::nullopt;
}

} // namespace agui::translator
