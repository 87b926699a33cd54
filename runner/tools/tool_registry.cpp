#include "runner/tools/tool_registry.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace agui::runner {

void tool_registry::add(tool_definition definition, tool_function function) {
    const auto [place, added] = functions_.try_emplace(definition.name, std::move(function));
    if (!added) {
        throw std::invalid_argument("two tools of the name " + place->first);
    }
    definitions_.push_back(std::move(definition));
}

bool tool_registry::contains(std::string_view name) const noexcept {
    return functions_.find(name) != functions_.end();
}

const tool_function* tool_registry::find(std::string_view name) const noexcept {
    const auto found = functions_.find(name);
    return found == functions_.end() ? nullptr : &found->second;
}

std::vector<tool_definition> tool_registry::definitions(const std::vector<std::string>& patterns
) const {
    if (patterns.empty()) {
        return definitions_;
    }
    std::vector<tool_definition> matching;
    for (const tool_definition& each : definitions_) {
        const bool wanted =
            std::any_of(patterns.begin(), patterns.end(), [&each](const std::string& pattern) {
                return matches_tool_pattern(each.name, pattern);
            });
        if (wanted) {
            matching.push_back(each);
        }
    }
    return matching;
}

bool matches_tool_pattern(std::string_view name, std::string_view pattern) noexcept {
    if (pattern.ends_with('*')) {
        pattern.remove_suffix(1);
        return name.starts_with(pattern);
    }
    return name == pattern;
}

} // namespace agui::runner
