#pragma once

#include "runner/tools/tool_registry.hpp"
#include "session/conversation/thread.hpp"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The tools of one run, as they were when it began: those of the server that its agent may use,
/// and those that the caller offers. Of two of one name the server's counts. Never changes.
class run_tools {
public:
    run_tools(
        const tool_registry& registry, const std::vector<std::string>& patterns,
        std::vector<tool_definition> external
    );

    /// What the model is offered, with parameters as tool_schema().
    [[nodiscard]] const std::vector<tool_definition>& offered() const noexcept { return offered_; }
    /// Who executes a call of that name. A name that nobody knows is the server's: the model is
    /// told that there is no such tool.
    [[nodiscard]] session::call_owner owner_of(std::string_view name) const noexcept;
    /// Null if the agent has no such tool of the server.
    [[nodiscard]] std::shared_ptr<const registered_tool> tool_of(std::string_view name
    ) const noexcept;

private:
    std::shared_ptr<const tool_set> server_;
    std::vector<tool_definition> offered_;
    std::set<std::string, std::less<>> server_names_;
    std::set<std::string, std::less<>> external_names_;
};

} // namespace agui::runner
