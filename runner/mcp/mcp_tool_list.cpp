#include "runner/mcp/mcp_tool_list.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/tool_names.hpp"
#include "runner/base/utf8.hpp"
#include "runner/mcp/mcp_limits.hpp"
#include "session/base/contains.hpp"
#include "session/base/json_member.hpp"
#include "session/base/sound_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

constexpr std::size_t server_name_max = 32;
constexpr std::string_view prefix = "mcp__";
constexpr std::string_view separator = "__";

// Descriptions have paragraphs and indented lists.
constexpr std::string_view kept_in_descriptions = "\n\t";

std::string description_of(const json::object& tool) {
    std::string_view text = string_in(tool, "description");
    if (text.empty()) {
        text = string_in(tool, "title");
    }
    return std::string(utf8_head(sound_text(text, kept_in_descriptions), mcp_description_bytes_max)
    );
}

// Keywords whose values are data and must stay unchanged.
constexpr std::array<std::string_view, 4> data_keywords{"const", "default", "enum", "examples"};
// Keywords whose values map names to schemas.
constexpr std::array<std::string_view, 6> map_keywords{"$defs",        "definitions",
                                                       "dependencies", "dependentSchemas",
                                                       "properties",   "patternProperties"};
// Keywords whose values are text for people.
constexpr std::array<std::string_view, 3> text_keywords{"$comment", "description", "title"};

void clean_schema(json::value& schema);

void clean_schemas(json::value& map) {
    if (json::object* const members = map.if_object()) {
        for (auto& member : *members) {
            clean_schema(member.value());
        }
    }
}

/// Cleans the texts of a schema, or of each schema in a list, like the tool's description. The
/// recursion is limited by the nesting of a message.
void clean_schema(json::value& schema) {
    if (json::array* const list = schema.if_array()) {
        std::ranges::for_each(*list, clean_schema);
        return;
    }
    json::object* const members = schema.if_object();
    if (members == nullptr) {
        return;
    }
    for (auto& member : *members) {
        const auto is_one_of = [key = std::string_view(member.key())](const auto& keywords) {
            return contains(keywords, key);
        };
        json::string* const text = member.value().if_string();
        if (text != nullptr && is_one_of(text_keywords)) {
            *text = sound_text(*text, kept_in_descriptions);
        } else if (is_one_of(map_keywords)) {
            clean_schemas(member.value());
        } else if (!is_one_of(data_keywords)) {
            clean_schema(member.value());
        }
    }
}

// Without annotations, or with unreadable ones, the tool counts as destructive.
bool is_destructive(const json::object& tool) {
    const json::value* const given = tool.if_contains("annotations");
    const json::object* const hints = given == nullptr ? nullptr : given->if_object();
    const auto says = [hints](std::string_view hint, bool what) {
        const json::value* const said = hints == nullptr ? nullptr : hints->if_contains(hint);
        return said != nullptr && said->is_bool() && said->get_bool() == what;
    };
    return !says("readOnlyHint", true) && !says("destructiveHint", false);
}

/// `_meta.ui.resourceUri`, or the older `_meta["ui/resourceUri"]`.
std::string resource_uri_of(const json::object& tool) {
    const json::object* const meta = object_in(tool, "_meta");
    if (meta == nullptr) {
        return {};
    }
    const json::object* const ui = object_in(*meta, "ui");
    std::string_view uri = ui == nullptr ? std::string_view() : string_in(*ui, "resourceUri");
    if (uri.empty()) {
        uri = string_in(*meta, "ui/resourceUri");
    }
    return is_mcp_app_uri(uri) ? std::string(uri) : std::string();
}

std::optional<mcp_tool> read_tool(json::value& value) {
    json::object* const tool = value.if_object();
    if (tool == nullptr || !session::check_protocol_object(*tool)) {
        return std::nullopt;
    }
    const std::string_view name = string_in(*tool, "name");
    if (sound_text(name).empty() || name.size() > mcp_tool_name_bytes_max) {
        return std::nullopt;
    }
    // Servers omit the schema of a tool without arguments, or write null; model servers are sent
    // tool_schema() of it.
    json::value* const given = tool->if_contains("inputSchema");
    json::object schema;
    if (given != nullptr && given->is_object()) {
        clean_schema(*given);
        schema = std::move(given->get_object());
    }
    const std::size_t schema_bytes = json::serialize(schema).size();
    if (schema_bytes > mcp_schema_bytes_max) {
        return std::nullopt;
    }
    mcp_tool read;
    read.name = name;
    read.description = description_of(*tool);
    read.schema = std::move(schema);
    read.destructive = is_destructive(*tool);
    read.resource_uri = resource_uri_of(*tool);
    read.bytes = read.name.size() + read.description.size() + schema_bytes;
    return read;
}

} // namespace

bool is_mcp_app_uri(std::string_view uri) noexcept {
    constexpr std::size_t uri_bytes_max = 2048;
    return uri.starts_with("ui://") && uri.size() <= uri_bytes_max;
}

std::optional<mcp_tool_page> read_mcp_tool_page(json::object result) {
    if (!session::check_protocol_object(result)) {
        return std::nullopt;
    }
    mcp_tool_page page;
    const json::value* const cursor = result.if_contains("nextCursor");
    if (text_of(cursor).size() <= mcp_cursor_bytes_max) {
        page.next_cursor = text_of(cursor);
    } else {
        ++page.left_out; // The next page has at least one tool.
    }
    json::value* const listed = result.if_contains("tools");
    if (listed == nullptr || listed->is_null()) {
        return page; // Go writes an empty list as null.
    }
    if (!listed->is_array()) {
        return std::nullopt;
    }
    for (json::value& each : listed->get_array()) {
        std::optional<mcp_tool> tool;
        if (page.tools.size() < mcp_tools_max) {
            tool = read_tool(each);
        }
        if (tool) {
            page.tools.push_back(std::move(*tool));
        } else {
            ++page.left_out;
        }
    }
    return page;
}

std::string mcp_offered_name(std::string_view server, std::string_view tool) {
    return std::string(prefix).append(server).append(separator).append(sound_text(tool));
}

bool is_mcp_server_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= server_name_max &&
           std::ranges::all_of(name, is_tool_name_character) && !name.starts_with('_') &&
           !name.ends_with('_') && name.find(separator) == std::string_view::npos;
}

} // namespace agui::runner
