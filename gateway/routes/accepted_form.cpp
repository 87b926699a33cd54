#include "gateway/routes/accepted_form.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace agui::gateway {

namespace {

/// Removes and returns the text up to the next separator outside of quotes, without blanks around
/// it (RFC 9110, 5.6).
std::string_view take_element(std::string_view& list, char separator) {
    bool is_quoted = false;
    std::size_t end = 0;
    for (; end < list.size() && (is_quoted || list[end] != separator); ++end) {
        if (list[end] == '"') {
            is_quoted = !is_quoted;
        } else if (list[end] == '\\' && is_quoted) {
            ++end;
        }
    }
    end = std::min(end, list.size());
    std::string_view element = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    element.remove_prefix(std::min(element.find_first_not_of(" \t"), element.size()));
    return element.substr(0, element.find_last_not_of(" \t") + 1);
}

/// RFC 9110, 12.4.2: 0 or 1 with at most three decimals. An invalid weight counts as 0.
bool is_above_zero(std::string_view weight) {
    if (weight.empty() || weight.size() > 5 || (weight[0] != '0' && weight[0] != '1') ||
        (weight.size() > 1 && weight[1] != '.')) {
        return false;
    }
    const std::string_view decimals = weight.substr(std::min<std::size_t>(weight.size(), 2));
    const auto outside = weight[0] == '1' ? decimals.find_first_not_of('0')
                                          : decimals.find_first_not_of("0123456789");
    return outside == std::string_view::npos &&
           (weight[0] == '1' || decimals.find_first_not_of('0') != std::string_view::npos);
}

/// A wildcard does not name it: curl and browsers accept everything and could not read it.
bool names_protobuf(std::string_view range) {
    if (!equal_ignoring_case(take_element(range, ';'), protobuf_content_type)) {
        return false;
    }
    if (range.empty()) {
        return true;
    }
    std::string_view value = take_element(range, ';');
    const std::string_view name = take_element(value, '=');
    return equal_ignoring_case(name, "q") && is_above_zero(value);
}

} // namespace

const stream_form& accepted_form(const http_request& request) noexcept {
    for (const auto& [name, value] : request.headers) {
        if (name != "accept") {
            continue;
        }
        for (std::string_view list = value; !list.empty();) {
            if (names_protobuf(take_element(list, ','))) {
                return protobuf_form();
            }
        }
    }
    return sse_form();
}

} // namespace agui::gateway
