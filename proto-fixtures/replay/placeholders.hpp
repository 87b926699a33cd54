#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::replay {

/// The placeholders of one fixture and their values so far.
///
/// `"$id:NAME"`: a non-empty string, the same wherever NAME is used, and different from the value
/// of every other NAME. `"$time"`: an integer. `"$any"`: any value, but there must be one.
/// `"$contains:TEXT"`: a string that holds TEXT. `"$absent"`: the member must not be there.
class placeholders {
public:
    /// Describes the first difference between `got` and `expected`. If they are equal, returns
    /// nullopt and remembers the ids.
    [[nodiscard]] std::optional<std::string>
    compare(const boost::json::value& expected, const boost::json::value& got);

    /// The same for the members of `expected`; `got` may have others.
    [[nodiscard]] std::optional<std::string>
    compare_members(const boost::json::object& expected, const boost::json::object& got);

    /// Returns true if some choice of ids would make them equal. For the alignment of a diff.
    [[nodiscard]] static bool
    could_match(const boost::json::value& expected, const boost::json::value& got);

    /// `value` with its `$id:` placeholders replaced. Throws fixture_error for an unknown one.
    [[nodiscard]] boost::json::value fill(const boost::json::value& value) const;

private:
    using names = std::map<std::string, std::string, std::less<>>;

    std::optional<std::string> walk(
        const boost::json::value& expected, const boost::json::value& got, const std::string& path
    );
    std::optional<std::string>
    text(std::string_view expected, const boost::json::value& got, const std::string& path);
    std::optional<std::string>
    identifier(std::string_view name, std::string_view value, const std::string& path);

    names value_of_;
    names name_of_;
};

/// One line of a comparison of two lists.
struct diff_line {
    enum class kind { same, missing, unexpected, note };
    kind what = kind::same;
    std::string text;
};

/// Aligns the lists and compares them in order. If all lines are `same`, the lists are equal.
[[nodiscard]] std::vector<diff_line> compare_events(
    placeholders& known, const std::vector<boost::json::object>& expected,
    const std::vector<boost::json::object>& got
);

/// Returns true if `lines` holds a difference.
[[nodiscard]] bool differs(const std::vector<diff_line>& lines);

/// "  same", "- expected", "+ got", "! why".
[[nodiscard]] std::vector<std::string> render(const std::vector<diff_line>& lines);

} // namespace agui::replay
