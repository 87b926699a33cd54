#include "runner/tools/tool_registry.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace agui::runner {

tool_registry& tool_registry::operator=(const tool_registry& other) {
    if (this != &other) {
        auto tools = other.snapshot();
        const std::lock_guard lock(mutex_);
        tools_ = std::move(tools);
    }
    return *this;
}

void tool_registry::add(tool_definition definition, tool_function function) {
    const std::lock_guard lock(mutex_);
    auto grown = std::make_shared<tool_set>(*tools_);
    const auto [place, added] = grown->functions_.try_emplace(definition.name, std::move(function));
    if (!added) {
        throw std::invalid_argument("two tools of the name " + place->first);
    }
    grown->definitions_.push_back(std::move(definition));
    tools_ = std::move(grown);
}

std::shared_ptr<const tool_set> tool_registry::snapshot() const {
    const std::lock_guard lock(mutex_);
    return tools_;
}

bool tool_set::contains(std::string_view name) const noexcept {
    return functions_.find(name) != functions_.end();
}

const tool_function* tool_set::find(std::string_view name) const noexcept {
    const auto found = functions_.find(name);
    return found == functions_.end() ? nullptr : &found->second;
}

std::vector<tool_definition> tool_set::definitions(const std::vector<std::string>& patterns) const {
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
