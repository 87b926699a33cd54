#include "runner/hooks/request_draft.hpp"

#include <algorithm>
#include <utility>

namespace agui::runner {

session::message requestable(session::message value) {
    session::message kept;
    kept.id = std::move(value.id); // Pairs reasoning with its answer. Not sent.
    kept.role = value.role;
    kept.content = std::move(value.content);
    kept.name = std::move(value.name);
    for (session::tool_call& call : value.tool_calls) {
        kept.tool_calls.push_back(
            {std::move(call.id), std::move(call.name), std::move(call.arguments), {}, {}}
        );
    }
    kept.tool_call_id = std::move(value.tool_call_id);
    kept.error = std::move(value.error);
    kept.origin = std::move(value.origin);
    return kept;
}

void request_draft::set_request_messages(std::vector<session::message> replacement) {
    messages.clear();
    for (session::message& each : replacement) {
        if (each.role != session::role::activity) {
            messages.push_back(requestable(std::move(each)));
        }
    }
}

void request_draft::add_tool(tool_definition definition, tool_function function) {
    const bool offered =
        std::ranges::find(tools, definition.name, &tool_definition::name) != tools.end();
    if (!offered) {
        functions_.insert_or_assign(definition.name, std::move(function));
        tools.push_back(std::move(definition));
    }
}

} // namespace agui::runner
