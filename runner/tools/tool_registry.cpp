#include "runner/tools/tool_registry.hpp"

#include "runner/base/tool_schema.hpp"
#include "runner/tools/schema_rules.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace agui::runner {

namespace {

/// Subschemas of all tools of a group. A server's list of 4 MB could have ten times as many, which
/// would stay in memory.
constexpr std::size_t max_group_subschemas = 50'000;

// Compiles outside the lock, because it takes a while. Brings the parameters into the form of
// tool_schema(), so that requests to models need not.
registered_tool compiled(
    tool_definition& definition, tool_function function, tool_options options,
    std::size_t max_subschemas = max_schema_subschemas
) {
    registered_tool tool{.function = std::move(function), .options = std::move(options)};
    auto schema = compile_argument_schema(
        definition.parameters, std::min(max_subschemas, max_schema_subschemas)
    );
    if (!schema) {
        tool.schema_problem = schema.error().detail;
    } else if (!describes_objects(definition.parameters)) {
        tool.schema_problem = "the schema does not describe an object";
    } else {
        tool.schema = *std::move(schema);
    }
    definition.parameters = tool_schema(definition.parameters);
    return tool;
}

void report(logger* log, const std::string& name, const registered_tool& tool) {
    if (log != nullptr && !tool.schema_problem.empty()) {
        log->log(
            log_level::warning, "the arguments of a tool are not checked",
            {{"tool", name}, {"detail", tool.schema_problem}}
        );
    }
}

} // namespace

tool_registry::tool_registry(std::vector<server_tool> tools) : tool_registry() {
    for (server_tool& each : tools) {
        add(std::move(each));
    }
}

tool_registry::tool_registry(const tool_registry& other) {
    const std::lock_guard lock(other.mutex_);
    tools_ = other.tools_;
    log_ = other.log_;
}

tool_registry& tool_registry::operator=(const tool_registry& other) {
    if (this != &other) {
        std::shared_ptr<const tool_set> tools;
        logger* log = nullptr;
        {
            const std::lock_guard lock(other.mutex_);
            tools = other.tools_;
            log = other.log_;
        }
        const std::lock_guard lock(mutex_);
        tools_ = std::move(tools);
        log_ = log;
    }
    return *this;
}

void tool_registry::log_to(logger& log) {
    const std::lock_guard lock(mutex_);
    log_ = &log;
    for (const auto& [name, tool] : tools_->tools_) {
        report(log_, name, tool);
    }
}

void tool_registry::add(tool_definition definition, tool_function function, tool_options options) {
    registered_tool tool = compiled(definition, std::move(function), std::move(options));
    const std::lock_guard lock(mutex_);
    auto grown = std::make_shared<tool_set>(*tools_);
    const auto [place, added] = grown->tools_.try_emplace(definition.name, std::move(tool));
    if (!added) {
        throw std::invalid_argument("two tools have the name " + place->first);
    }
    report(log_, place->first, place->second);
    grown->added_.push_back(std::move(definition));
    grown->collect();
    tools_ = std::move(grown);
}

void tool_registry::add(server_tool tool) {
    add(std::move(tool.definition), std::move(tool.function), std::move(tool.options));
}

std::vector<std::string>
tool_registry::replace(std::string_view group, std::vector<server_tool> tools) {
    std::vector<std::string> refused;
    std::vector<registered_tool> coming;
    coming.reserve(tools.size());
    std::size_t room = max_group_subschemas;
    for (server_tool& each : tools) {
        const registered_tool& added = coming.emplace_back(
            compiled(each.definition, std::move(each.function), std::move(each.options), room)
        );
        room -= added.schema == nullptr ? 0 : added.schema->subschemas();
    }
    const std::lock_guard lock(mutex_);
    auto changed = std::make_shared<tool_set>(*tools_);
    if (const auto old = changed->groups_.find(group); old != changed->groups_.end()) {
        for (const tool_definition& each : old->second) {
            changed->tools_.erase(each.name);
        }
        changed->groups_.erase(old);
    }
    std::vector<tool_definition> definitions;
    for (std::size_t i = 0; i < tools.size(); ++i) {
        tool_definition& definition = tools[i].definition;
        const auto [place, added] =
            changed->tools_.try_emplace(definition.name, std::move(coming[i]));
        if (added) {
            report(log_, place->first, place->second);
            definitions.push_back(std::move(definition));
        } else {
            refused.push_back(definition.name);
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
    return tools_.find(name) != tools_.end();
}

const tool_function* tool_set::find(std::string_view name) const noexcept {
    const registered_tool* const found = find_tool(name);
    return found == nullptr ? nullptr : &found->function;
}

const registered_tool* tool_set::find_tool(std::string_view name) const noexcept {
    const auto found = tools_.find(name);
    return found == tools_.end() ? nullptr : &found->second;
}

namespace {

bool matches_any(std::string_view name, const std::vector<std::string>& patterns) {
    return patterns.empty() || std::ranges::any_of(patterns, [name](const std::string& pattern) {
               return matches_tool_pattern(name, pattern);
           });
}

} // namespace

std::vector<tool_definition> tool_set::definitions(const std::vector<std::string>& patterns) const {
    if (patterns.empty()) {
        return definitions_;
    }
    std::vector<tool_definition> matching;
    std::ranges::copy_if(definitions_, std::back_inserter(matching), [&](const auto& each) {
        return matches_any(each.name, patterns);
    });
    return matching;
}

std::vector<std::string> tool_set::names(const std::vector<std::string>& patterns) const {
    std::vector<std::string> found;
    for (const tool_definition& each : definitions_) {
        if (matches_any(each.name, patterns)) {
            found.push_back(each.name);
        }
    }
    return found;
}

bool matches_tool_pattern(std::string_view name, std::string_view pattern) noexcept {
    if (pattern.ends_with('*')) {
        pattern.remove_suffix(1);
        return name.starts_with(pattern);
    }
    return name == pattern;
}

} // namespace agui::runner
