#include "session/base/finite_json.hpp"

#include "session/base/parse_json.hpp"

#include <algorithm>
#include <cmath>

namespace agui::session {

bool is_finite(const boost::json::value& value) noexcept {
    switch (value.kind()) {
    case boost::json::kind::double_:
        return std::isfinite(value.get_double());
    case boost::json::kind::array:
        return std::ranges::all_of(value.get_array(), is_finite);
    case boost::json::kind::object:
        return std::ranges::all_of(value.get_object(), [](const auto& member) {
            return is_finite(member.value());
        });
    default:
        return true;
    }
}

std::optional<boost::json::value> parse_arguments(std::string_view text, std::size_t max_depth) {
    result<boost::json::value> parsed = parse_json(text, {.max_depth = max_depth});
    if (!parsed || !is_finite(*parsed)) {
        return std::nullopt;
    }
    return std::move(*parsed);
}

} // namespace agui::session
