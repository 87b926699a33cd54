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
    grown->added_.push_back(std::move(definition));
    grown->collect();
    tools_ = std::move(grown);
}

std::vector<std::string>
tool_registry::replace(std::string_view group, std::vector<server_tool> tools) {
    std::vector<std::string> refused;
    const std::lock_guard lock(mutex_);
    auto changed = std::make_shared<tool_set>(*tools_);
    if (const auto old = changed->groups_.find(group); old != changed->groups_.end()) {
        for (const tool_definition& each : old->second) {
            changed->functions_.erase(each.name);
        }
        changed->groups_.erase(old);
    }
    std::vector<tool_definition> definitions;
    for (server_tool& each : tools) {
        const std::string name = each.definition.name;
        if (changed->functions_.try_emplace(name, std::move(each.function)).second) {
            definitions.push_back(std::move(each.definition));
        } else {
            refused.push_back(name);
        }
    }
    if (!definitions.empty()) {
        changed->groups_.emplace(group, std::move(definitions));
    }
    changed->collect();
    tools_ = std::move(changed);
    return refused;
}

std::shared_ptr<const tool_set> tool_registry::snapshot() const {
    const std::lock_guard lock(mutex_);
    return tools_;
}

void tool_set::collect() {
    definitions_ = added_;
    for (const auto& [group, definitions] : groups_) {
        definitions_.insert(definitions_.end(), definitions.begin(), definitions.end());
    }
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
