#include "translator/input/input_tools.hpp"

#include "translator/agui/event_writer.hpp"
#include "translator/input/input_fields.hpp"

#include <algorithm>

namespace agui::translator {
namespace {

constexpr std::string_view reserved_prefix = "mcp__"; // Names of the server's own MCP tools.

// Model servers take fewer names: runner/base/tool_names.hpp maps them.
result<void>
check_name(std::string_view name, const std::string& path, const input_limits& limits) {
    if (name.empty()) {
        return invalid_input(path, "must not be empty");
    }
    if (name.starts_with(reserved_prefix)) {
        return invalid_input(path, "must not begin with mcp__: that prefix is reserved");
    }
    return check_id(name, path, limits.max_id_bytes);
}

result<boost::json::value> read_parameters(
    const boost::json::object& tool, std::string_view path, const input_limits& limits,
    std::vector<std::string>& notes
) {
    const boost::json::value* parameters = find_member(tool, "parameters");
    if (parameters == nullptr) {
        return boost::json::value(nullptr);
    }
    const std::string where = joined(path, "parameters");
    std::string text;
    append_json(text, *parameters);
    if (text.size() > limits.max_tool_schema_bytes) {
        return invalid_input(
            where, "must not be longer than " + std::to_string(limits.max_tool_schema_bytes) +
                       " bytes of JSON"
        );
    }
    if (!parameters->is_object()) {
        // The protocol allows any JSON here; model servers accept objects only.
        add_note(notes, where, "ignored, not an object");
        return boost::json::value(nullptr);
    }
    return boost::json::value(*parameters, boost::json::storage_ptr());
}

result<runner::tool_definition> read_tool(
    const boost::json::value& given, std::string_view path, const input_limits& limits,
    std::vector<std::string>& notes
) {
    const auto object = read_object(given, path);
    if (!object) {
        return object.error();
    }
    auto name = read_required_text(**object, "name", path);
    if (!name) {
        return name.error();
    }
    if (auto sound = check_name(*name, joined(path, "name"), limits); !sound) {
        return sound.error();
    }
    auto description = read_text(**object, "description", path);
    if (!description) {
        return description.error();
    }
    const boost::json::value* metadata = find_member(**object, "metadata");
    if (metadata != nullptr && !metadata->is_object()) {
        return invalid_input(joined(path, "metadata"), "must be an object");
    }
    auto parameters = read_parameters(**object, path, limits, notes);
    if (!parameters) {
        return parameters.error();
    }
    return runner::tool_definition{
        std::move(*name), std::move(*description).value_or(std::string()), std::move(*parameters)
    };
}

} // namespace

result<void>
read_tools(const boost::json::value& given, const input_limits& limits, run_input& out) {
    const auto array = read_array(given, "tools");
    if (!array) {
        return array.error();
    }
    if ((*array)->size() > limits.max_client_tools) {
        return invalid_input(
            "tools",
            "must not have more than " + std::to_string(limits.max_client_tools) + " elements"
        );
    }
    std::vector<runner::tool_definition>& tools = out.tools.emplace();
    for (std::size_t index = 0; index < (*array)->size(); ++index) {
        const boost::json::value& element = (**array)[index];
        const std::string path = indexed("tools", index);
        auto tool = read_tool(element, path, limits, out.notes);
        if (!tool) {
            return tool.error();
        }
        const auto earlier =
            std::find_if(tools.begin(), tools.end(), [&](const runner::tool_definition& known) {
                return known.name == tool->name;
            });
        if (earlier == tools.end()) {
            tools.push_back(std::move(*tool));
            out.tools_json.push_back(element);
            continue;
        }
        add_note(out.notes, path, "replaces an earlier tool of the same name");
        out.tools_json[static_cast<std::size_t>(earlier - tools.begin())] = element;
        *earlier = std::move(*tool);
    }
    return {};
}

} // namespace agui::translator
