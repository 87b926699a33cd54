#include "runner/loop/agent_tool.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

json::object task_schema() {
    return {
        {"type", "object"},
        {"properties",
         {{task_argument,
           {{"type", "string"},
            {"description", "The task with everything that the agent has to know: it sees nothing "
                            "else of the conversation."}}}}},
        {"required", json::array{task_argument}}
    };
}

} // namespace

server_tool agent_tool(std::string name, const called_agent& agent) {
    server_tool tool;
    tool.definition.description =
        agent.description.empty() ? "Gives a task to the agent " + name + "." : agent.description;
    tool.definition.name = std::move(name);
    tool.definition.parameters = task_schema();
    tool.function = [](tool_invocation /*call*/) -> boost::asio::awaitable<tool_outcome> {
        co_return tool_outcome{tool_outcome::kind::unavailable, std::string()};
    };
    tool.options.destructive = false;
    return tool;
}

} // namespace agui::runner
