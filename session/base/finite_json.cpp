#include "session/base/finite_json.hpp"

#include "session/base/json_events.hpp"
#include "session/base/parse_json.hpp"

#include <algorithm>
#include <cmath>

namespace agui::session {

namespace {

struct finite_numbers : unread_json {
    static bool on_double(double value, text_view /*text*/, error_code& ec) {
        if (!std::isfinite(value)) {
            ec = boost::json::error::not_exact;
        }
        return !ec;
    }
};

} // namespace

bool is_finite(const boost::json::value& value) noexcept {
    switch (value.kind()) {
    case boost::json::kind::double_:
        return std::isfinite(value.get_double());
    case boost::json::kind::array:
        return std::ranges::all_of(value.get_array(), [](const boost::json::value& each) {
            return is_finite(each);
        });
    case boost::json::kind::object:
        return is_finite(value.get_object());
    default:
        return true;
    }
}

// A function of its own, because turning an object into a value would copy it.
bool is_finite(const boost::json::object& members) noexcept {
    return std::ranges::all_of(members, [](const auto& member) {
        return is_finite(member.value());
    });
}

std::optional<boost::json::value> parse_arguments(std::string_view text, std::size_t max_depth) {
    result<boost::json::value> parsed = parse_json(text, {.max_depth = max_depth});
    if (!parsed || !is_finite(*parsed)) {
        return std::nullopt;
    }
    return std::move(*parsed);
}

bool is_arguments_object(std::string_view text, std::size_t max_depth) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos || text[begin] != '{') {
        return false;
    }
    json_event_reader<finite_numbers> reader({.max_depth = max_depth});
    return !reader.read(text).failed();
}

} // namespace agui::session
