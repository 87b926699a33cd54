#include "proto-fixtures/replay/placeholders.hpp"

#include "proto-fixtures/replay/fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace agui::replay {

namespace json = boost::json;

namespace {

constexpr std::string_view id_prefix = "$id:";
const json::value absent("$absent");
constexpr std::string_view contains_prefix = "$contains:";

std::string member_path(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::string
differing(const std::string& path, const json::value& expected, const json::value& got) {
    return path + ": expected " + json::serialize(expected) + ", got " + json::serialize(got);
}

/// The event, without its timestamp if the expectation has none.
json::object comparable(const json::object& expected, const json::object& got) {
    json::object event = got;
    if (!expected.contains("timestamp")) {
        event.erase("timestamp");
    }
    return event;
}

std::string line_of(const json::object& event) { return json::serialize(event); }

} // namespace

std::optional<std::string>
placeholders::compare(const json::value& expected, const json::value& got) {
    const names values = value_of_;
    const names reverse = name_of_;
    auto problem = walk(expected, got, "");
    if (problem) {
        value_of_ = values;
        name_of_ = reverse;
    }
    return problem;
}

std::optional<std::string>
placeholders::compare_members(const json::object& expected, const json::object& got) {
    json::object named;
    for (const auto& member : expected) {
        const json::value* value = got.if_contains(member.key());
        if (value != nullptr) {
            named.emplace(member.key(), *value);
        }
    }
    return compare(expected, named);
}

std::optional<std::string>
placeholders::walk(const json::value& expected, const json::value& got, const std::string& path) {
    if (expected.is_string()) {
        return text(expected.get_string(), got, path);
    }
    if (expected.is_object() && got.is_object()) {
        for (const auto& member : expected.get_object()) {
            const std::string at = member_path(path, member.key());
            const json::value* value = got.get_object().if_contains(member.key());
            if (member.value() == absent) {
                if (value != nullptr) {
                    return at + " is not expected";
                }
                continue;
            }
            if (value == nullptr) {
                return at + " is missing";
            }
            if (auto problem = walk(member.value(), *value, at)) {
                return problem;
            }
        }
        for (const auto& member : got.get_object()) {
            if (!expected.get_object().contains(member.key())) {
                return member_path(path, member.key()) + " is not expected";
            }
        }
        return std::nullopt;
    }
    if (expected.is_array() && got.is_array()) {
        const json::array& left = expected.get_array();
        const json::array& right = got.get_array();
        for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
            if (auto problem = walk(left[i], right[i], path + "[" + std::to_string(i) + "]")) {
                return problem;
            }
        }
        if (left.size() != right.size()) {
            return path + ": expected " + std::to_string(left.size()) + " elements, got " +
                   std::to_string(right.size());
        }
        return std::nullopt;
    }
    return expected == got ? std::nullopt : std::optional(differing(path, expected, got));
}

std::optional<std::string>
placeholders::text(std::string_view expected, const json::value& got, const std::string& path) {
    if (expected == "$any") {
        return std::nullopt;
    }
    if (expected == "$time") {
        return got.is_int64()
                   ? std::nullopt
                   : std::optional(path + ": expected an integer, got " + json::serialize(got));
    }
    if (!got.is_string()) {
        return differing(path, json::value(expected), got);
    }
    const std::string_view value = got.get_string();
    if (expected.starts_with(id_prefix)) {
        return identifier(expected.substr(id_prefix.size()), value, path);
    }
    if (expected.starts_with(contains_prefix)) {
        const std::string_view part = expected.substr(contains_prefix.size());
        return value.find(part) != std::string_view::npos
                   ? std::nullopt
                   : std::optional(differing(path, json::value(expected), got));
    }
    return value == expected ? std::nullopt
                             : std::optional(differing(path, json::value(expected), got));
}

std::optional<std::string>
placeholders::identifier(std::string_view name, std::string_view value, const std::string& path) {
    if (value.empty()) {
        return path + ": an id is empty";
    }
    if (const auto known = value_of_.find(name); known != value_of_.end()) {
        return known->second == value ? std::nullopt
                                      : std::optional(
                                            path + ": $id:" + std::string(name) + " is \"" +
                                            known->second + "\", got \"" + std::string(value) + "\""
                                        );
    }
    if (const auto taken = name_of_.find(value); taken != name_of_.end()) {
        return path + ": \"" + std::string(value) + "\" is $id:" + taken->second +
               " already, expected another id for $id:" + std::string(name);
    }
    value_of_.emplace(name, value);
    name_of_.emplace(value, name);
    return std::nullopt;
}

bool placeholders::could_match(const json::value& expected, const json::value& got) {
    placeholders fresh;
    return !fresh.walk(expected, got, "");
}

json::value placeholders::fill(const json::value& value) const {
    if (value.is_string()) {
        const std::string_view text = value.get_string();
        if (!text.starts_with(id_prefix)) {
            return value;
        }
        const auto known = value_of_.find(text.substr(id_prefix.size()));
        if (known == value_of_.end()) {
            throw fixture_error(
                std::string(text) + " is used before an expectation gave it a value"
            );
        }
        return json::value(known->second);
    }
    if (value.is_array()) {
        json::array filled;
        for (const json::value& element : value.get_array()) {
            filled.push_back(fill(element));
        }
        return filled;
    }
    if (value.is_object()) {
        json::object filled;
        for (const auto& member : value.get_object()) {
            filled.emplace(member.key(), fill(member.value()));
        }
        return filled;
    }
    return value;
}

std::vector<diff_line> compare_events(
    placeholders& known, const std::vector<json::object>& expected,
    const std::vector<json::object>& got
) {
    // common[i][j]: length of the longest common subsequence of expected[i…] and got[j…].
    const std::size_t rows = expected.size();
    const std::size_t columns = got.size();
    std::vector<std::vector<std::size_t>> common(rows + 1, std::vector<std::size_t>(columns + 1));
    const auto alike = [&](std::size_t i, std::size_t j) {
        return placeholders::could_match(expected[i], comparable(expected[i], got[j]));
    };
    for (std::size_t i = rows; i-- > 0;) {
        for (std::size_t j = columns; j-- > 0;) {
            common[i][j] = alike(i, j) ? common[i + 1][j + 1] + 1
                                       : std::max(common[i + 1][j], common[i][j + 1]);
        }
    }

    std::vector<diff_line> lines;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < rows || j < columns) {
        if (i < rows && j < columns && alike(i, j)) {
            const auto problem = known.compare(expected[i], comparable(expected[i], got[j]));
            if (problem) {
                lines.push_back({diff_line::kind::missing, line_of(expected[i])});
                lines.push_back({diff_line::kind::unexpected, line_of(got[j])});
                lines.push_back({diff_line::kind::note, *problem});
            } else {
                lines.push_back({diff_line::kind::same, line_of(got[j])});
            }
            ++i;
            ++j;
        } else if (j == columns || (i < rows && common[i + 1][j] >= common[i][j + 1])) {
            lines.push_back({diff_line::kind::missing, line_of(expected[i])});
            ++i;
        } else {
            lines.push_back({diff_line::kind::unexpected, line_of(got[j])});
            ++j;
        }
    }
    return lines;
}

bool differs(const std::vector<diff_line>& lines) {
    return std::any_of(lines.begin(), lines.end(), [](const diff_line& line) {
        return line.what != diff_line::kind::same;
    });
}

std::vector<std::string> render(const std::vector<diff_line>& lines) {
    std::vector<std::string> rendered;
    for (const diff_line& line : lines) {
        const char* mark = "  ";
        switch (line.what) {
        case diff_line::kind::same:
            break;
        case diff_line::kind::missing:
            mark = "- ";
            break;
        case diff_line::kind::unexpected:
            mark = "+ ";
            break;
        case diff_line::kind::note:
            mark = "! ";
            break;
        }
        rendered.push_back(mark + line.text);
    }
    return rendered;
}

} // namespace agui::replay
