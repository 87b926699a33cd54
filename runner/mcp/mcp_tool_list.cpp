#include "runner/mcp/mcp_tool_list.hpp"

#include "runner/base/json_members.hpp"
#include "runner/mcp/mcp_limits.hpp"
#include "session/base/sound_text.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

constexpr std::size_t server_name_max = 32;
constexpr std::string_view prefix = "mcp__";
constexpr std::string_view separator = "__";

bool is_name_character(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/// The start of `text` (UTF-8): at most that many bytes, only whole characters.
std::string_view cut(std::string_view text, std::size_t bytes_max) noexcept {
    if (text.size() <= bytes_max) {
        return text;
    }
    while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0U) == 0x80U) {
        --bytes_max;
    }
    return text.substr(0, bytes_max);
}

// Descriptions have paragraphs and indented lists.
constexpr std::string_view kept_in_descriptions = "\n\t";

std::string description_of(const json::object& tool) {
    std::string_view text = string_in(tool, "description");
    if (text.empty()) {
        text = string_in(tool, "title");
    }
    return std::string(cut(sound_text(text, kept_in_descriptions), mcp_description_bytes_max));
}

/// True for members of a schema whose values are data, of which nothing may be changed.
bool holds_data(std::string_view keyword) noexcept {
    return keyword == "const" || keyword == "default" || keyword == "enum" || keyword == "examples";
}

/// Cleans the descriptions in a schema as that of the tool. Recursive, but only as deep as a
/// message may be nested.
void clean_descriptions(json::value& schema) {
    if (json::array* const list = schema.if_array()) {
        for (json::value& each : *list) {
            clean_descriptions(each);
        }
        return;
    }
    json::object* const members = schema.if_object();
    if (members == nullptr) {
        return;
    }
    for (auto& member : *members) {
        const std::string_view key = member.key();
        json::string* const text = member.value().if_string();
        if (text != nullptr && (key == "description" || key == "title")) {
            *text = sound_text(text_of(&member.value()), kept_in_descriptions);
        } else if (!holds_data(key)) {
            clean_descriptions(member.value());
        }
    }
}

std::optional<mcp_tool> read_tool(json::value& value) {
    json::object* const tool = value.if_object();
    if (tool == nullptr) {
        return std::nullopt;
    }
    const std::string_view name = string_in(*tool, "name");
    if (sound_text(name).empty() || name.size() > mcp_tool_name_bytes_max) {
        return std::nullopt;
    }
    // Servers leave the schema of a tool without arguments out, or write null: model servers are
    // sent tool_schema() of it.
    json::value* const given = tool->if_contains("inputSchema");
    json::object schema;
    if (given != nullptr && given->is_object()) {
        clean_descriptions(*given);
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
    read.bytes = read.name.size() + read.description.size() + schema_bytes;
    return read;
}

} // namespace

std::optional<mcp_tool_page> read_mcp_tool_page(json::object result) {
    mcp_tool_page page;
    const json::value* const cursor = result.if_contains("nextCursor");
    if (text_of(cursor).size() <= mcp_cursor_bytes_max) {
        page.next_cursor = text_of(cursor);
    } else {
        ++page.left_out; // At least one tool of the next page.
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
           std::ranges::all_of(name, is_name_character) && !name.starts_with('_') &&
           !name.ends_with('_') && name.find(separator) == std::string_view::npos;
}

} // namespace agui::runner
