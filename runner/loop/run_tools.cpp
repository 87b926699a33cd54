#include "runner/loop/run_tools.hpp"

#include "runner/base/tool_schema.hpp"

#include <utility>

namespace agui::runner {

run_tools::run_tools(
    const tool_registry& registry, const std::vector<std::string>& patterns,
    std::vector<tool_definition> external
)
    : server_(registry.snapshot()), offered_(server_->definitions(patterns)) {
    for (const tool_definition& tool : offered_) {
        server_names_.insert(tool.name);
    }
    for (tool_definition& tool : external) {
        if (!server_names_.contains(tool.name)) {
            external_names_.insert(tool.name);
            tool.parameters = tool_schema(tool.parameters); // Once, not for each model call.
            offered_.push_back(std::move(tool));
        }
    }
}

session::call_owner run_tools::owner_of(std::string_view name) const noexcept {
    return external_names_.contains(name) ? session::call_owner::external
                                          : session::call_owner::server;
}

std::shared_ptr<const registered_tool> run_tools::tool_of(std::string_view name) const noexcept {
    if (!server_names_.contains(name)) {
        return nullptr;
    }
    return {server_, server_->find_tool(name)}; // A part of the set, which the pointer keeps alive.
}

} // namespace agui::runner
