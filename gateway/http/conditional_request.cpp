#include "gateway/http/conditional_request.hpp"

#include "session/base/ascii.hpp"
#include "session/base/http_date.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace agui::gateway {
namespace {

std::vector<std::string_view> fields(const http_request& request, std::string_view name) {
    std::vector<std::string_view> values;
    for (const auto& [field, value] : request.headers) {
        if (field == name) {
            values.emplace_back(value);
        }
    }
    return values;
}

std::string_view without_blanks(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return text.substr(0, text.find_last_not_of(" \t") + 1);
}

/// RFC 9110 section 8.8.3.2: `W/"a"` and `"a"` are equal only in the weak comparison.
enum class comparison { strong, weak };

/// Returns true if a list of entity tags has `etag`. The list is read up to the first invalid tag;
/// tags may hold commas.
bool has_tag(std::string_view list, std::string_view etag, comparison how) {
    for (;;) {
        list.remove_prefix(std::min(list.find_first_not_of(" \t,"), list.size()));
        const bool weak = list.starts_with("W/");
        list.remove_prefix(weak ? 2 : 0);
        if (!list.starts_with('"')) {
            return false;
        }
        const std::size_t end = list.find('"', 1);
        if (end == std::string_view::npos) {
            return false;
        }
        if (list.substr(0, end + 1) == etag && (!weak || how == comparison::weak)) {
            return true;
        }
        list.remove_prefix(end + 1);
    }
}

bool any_has_tag(
    const std::vector<std::string_view>& lists, std::string_view etag, comparison how
) {
    return std::ranges::any_of(lists, [&](std::string_view list) {
        return without_blanks(list) == "*" || has_tag(list, etag, how);
    });
}

/// The date in a header; nullopt if it is missing, repeated or invalid.
std::optional<std::chrono::sys_seconds>
date_in(const http_request& request, std::string_view name) {
    const auto values = fields(request, name);
    return values.size() == 1 ? parse_http_date(values.front()) : std::nullopt;
}

/// Parses a number of digits only; too large a number counts as the largest.
std::optional<std::uint64_t> position(std::string_view text) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || read.ptr != text.data() + text.size() ||
        read.ec == std::errc::invalid_argument) {
        return std::nullopt;
    }
    const bool fits = read.ec == std::errc();
    return fits ? number : std::numeric_limits<std::uint64_t>::max();
}

using range_result = std::variant<whole_file, byte_range, unsatisfiable_range>;

/// The last `count` bytes.
range_result suffix(std::uint64_t count, std::uint64_t size) {
    if (count == 0) {
        return unsatisfiable_range{};
    }
    if (size == 0) {
        return whole_file{}; // The range is the whole empty file, which no byte_range can express.
    }
    const std::uint64_t length = std::min(count, size);
    return byte_range{size - length, length};
}

/// `first-last`, `first-` or `-count`.
range_result range_in(std::string_view text, std::uint64_t size) {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) {
        return whole_file{};
    }
    const auto last = position(text.substr(dash + 1));
    if (dash == 0) {
        return last ? suffix(*last, size) : whole_file{};
    }
    const auto first = position(text.substr(0, dash));
    const bool open_end = dash + 1 == text.size();
    if (!first || (!last && !open_end) || (last && *last < *first)) {
        return whole_file{};
    }
    if (*first >= size) {
        return unsatisfiable_range{};
    }
    const std::uint64_t rest = size - *first;
    return byte_range{*first, last ? std::min(*last - *first, rest - 1) + 1 : rest};
}

} // namespace

precondition check_preconditions(const http_request& request, const file_version& version) {
    const auto match = fields(request, "if-match");
    if (!match.empty()) {
        if (!any_has_tag(match, version.etag, comparison::strong)) {
            return precondition::fails;
        }
    } else if (const auto since = date_in(request, "if-unmodified-since")) {
        if (version.modified > *since) {
            return precondition::fails;
        }
    }
    const auto none_match = fields(request, "if-none-match");
    if (!none_match.empty()) {
        return any_has_tag(none_match, version.etag, comparison::weak) ? precondition::not_modified
                                                                       : precondition::holds;
    }
    const auto since = date_in(request, "if-modified-since");
    return since && version.modified <= *since ? precondition::not_modified : precondition::holds;
}

std::variant<whole_file, byte_range, unsatisfiable_range>
requested_range(const http_request& request, const file_version& version, std::uint64_t size) {
    constexpr std::string_view unit = "bytes=";
    const auto ranges = fields(request, "range");
    if (request.method != "GET" || ranges.size() != 1 || ranges.front().size() < unit.size() ||
        !equal_ignoring_case(ranges.front().substr(0, unit.size()), unit)) {
        return whole_file{};
    }
    const auto only_if = fields(request, "if-range");
    if (std::ranges::any_of(only_if, [&](std::string_view tag) {
            return without_blanks(tag) != version.etag;
        })) {
        return whole_file{};
    }
    return range_in(without_blanks(ranges.front().substr(unit.size())), size);
}

} // namespace agui::gateway
