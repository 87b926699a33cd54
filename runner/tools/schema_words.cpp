#include "runner/tools/schema_words.hpp"

#include "runner/base/utf8.hpp"
#include "runner/tools/schema_rules.hpp"

#include <array>
#include <utility>
#include <vector>

namespace agui::runner {

namespace {

constexpr std::size_t max_path_bytes = 150;
constexpr std::size_t max_name_bytes = 50;

} // namespace

std::string path_text(const value_path& inner) {
    std::vector<const value_path*> steps;
    for (const value_path* at = &inner; at->outer != nullptr; at = at->outer) {
        steps.push_back(at);
    }
    std::string path;
    for (; !steps.empty() && path.size() < max_path_bytes; steps.pop_back()) {
        const value_path& step = *steps.back();
        path += '/';
        path += step.is_item ? std::to_string(step.item) : utf8_head(step.member, max_path_bytes);
    }
    return path.empty() ? "/" : std::string(utf8_head(path, max_path_bytes));
}

std::string quoted_member(std::string_view name) {
    return "'" + std::string(utf8_head(name, max_name_bytes)) + "'";
}

std::string type_rule(std::uint8_t types) {
    constexpr std::array<std::pair<std::string_view, std::uint8_t>, 7> names{{
        {"null", type_null},
        {"boolean", type_boolean},
        {"string", type_string},
        {"number", type_number},
        {"integer", type_integer},
        {"array", type_array},
        {"object", type_object},
    }};
    std::string listed;
    for (const auto& [name, type] : names) {
        const bool is_included = type == type_integer && (types & type_number) != 0;
        if ((types & type) != 0 && !is_included) {
            listed += listed.empty() ? "" : " or ";
            listed += name;
        }
    }
    return "the type must be " + listed;
}

} // namespace agui::runner
