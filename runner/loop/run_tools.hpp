#pragma once

#include "runner/loop/agent_loop.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/conversation/thread.hpp"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The names of the server's tools that an agent offers, in the order of run_tools.
[[nodiscard]] std::vector<std::string>
server_tool_names(const tool_registry& registry, const agent_settings& agent);

/// True if the server executes calls of that name for the agent, whether it offers the tool or not.
[[nodiscard]] bool
is_server_tool(const tool_registry& registry, const agent_settings& agent, std::string_view name);

/// The tools of one run, as they were when it began: the server's tools that its agent may use, and
/// the caller's tools. If both have a name, the server's tool is used. A withdrawn tool is declared
/// and belongs to the server, which has none of that name. Never changes.
class run_tools {
public:
    run_tools(
        const tool_registry& registry, const agent_settings& agent,
        std::vector<tool_definition> external
    );

    /// The tools declared to the model, with parameters as tool_schema(), in the agent's order:
    /// those offered, and the withdrawn ones.
    [[nodiscard]] const std::vector<tool_definition>& offered() const noexcept { return offered_; }
    /// The same with agent_settings::late_tools, which offered() does not have.
    [[nodiscard]] const std::vector<tool_definition>& with_late() const noexcept {
        return with_late_.empty() ? offered_ : with_late_;
    }
    /// The side that executes a call of that name. Unknown names belong to the server, which tells
    /// the model that there is no such tool.
    [[nodiscard]] session::call_owner owner_of(std::string_view name) const noexcept;
    /// Null if the agent may use no server tool of that name.
    [[nodiscard]] std::shared_ptr<const registered_tool> tool_of(std::string_view name
    ) const noexcept;
    /// False for the functions of the program and for the agent's own tools. Does not depend on the
    /// tools that are offered at the moment, so that a thread's earlier messages stay the same.
    [[nodiscard]] bool is_foreign(std::string_view name) const noexcept;

private:
    void add_withdrawn(const agent_settings& agent);
    void sort(const std::vector<std::string>& order);

    std::shared_ptr<const tool_set> server_;
    std::shared_ptr<const tool_set> own_; ///< agent_settings::own_tools
    std::vector<tool_definition> offered_;
    std::vector<tool_definition> with_late_; ///< Empty if there are no late ones.
    std::set<std::string, std::less<>> server_names_;
    std::set<std::string, std::less<>> external_names_;
};

} // namespace agui::runner
