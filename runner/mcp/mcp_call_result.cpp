#include "runner/mcp/mcp_call_result.hpp"

#include "runner/base/json_members.hpp"
#include "runner/mcp/mcp_limits.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

tool_outcome error_result(std::string text, std::string detail) {
    return {
        .what = tool_outcome::kind::error,
        .content = std::move(text),
        .log_detail = std::move(detail)
    };
}

std::string note(std::string_view what, std::string_view name) {
    std::string text = "[";
    text.append(what);
    if (!name.empty()) {
        text.append(" ").append(name);
    }
    return text.append(": not shown]");
}

std::string note_with_type(std::string_view what, const json::object& block) {
    return note(what, string_in(block, "mimeType"));
}

/// nullopt: not a content block of MCP.
std::optional<std::string> text_of_block(const json::value& value) {
    const json::object* const block = value.if_object();
    if (block == nullptr) {
        return std::nullopt;
    }
    const std::string_view type = string_in(*block, "type");
    if (type == "text") {
        const json::value* const text = block->if_contains("text");
        return text != nullptr && text->is_string() ? std::optional(std::string(text_of(text)))
                                                    : std::nullopt;
    }
    if (type == "image" || type == "audio") {
        return note_with_type(type, *block);
    }
    if (type == "resource_link") {
        return "[resource " + std::string(string_in(*block, "uri")) + "]";
    }
    if (type == "resource") {
        const json::object* const resource = object_in(*block, "resource");
        if (resource == nullptr) {
            return std::nullopt;
        }
        const json::value* const text = resource->if_contains("text");
        return text != nullptr && text->is_string() ? std::string(text_of(text))
                                                    : note("resource", string_in(*resource, "uri"));
    }
    // A kind from a later revision: the model should know that there was something.
    return type.empty() ? std::nullopt : std::optional(note("content of an unknown type", {}));
}

std::string_view describe(mcp_failure::kind kind) noexcept {
    switch (kind) {
    case mcp_failure::kind::unavailable:
        return "The tool could not be reached.";
    case mcp_failure::kind::refused:
        return "The tool's server answered with an HTTP error.";
    case mcp_failure::kind::lost:
        return "The connection to the tool was lost before its answer was complete.";
    case mcp_failure::kind::timeout:
        return "The tool did not answer in time.";
    case mcp_failure::kind::protocol:
        return "The tool's answer could not be read.";
    case mcp_failure::kind::error:
        return "The tool's server answered with an error.";
    case mcp_failure::kind::cancelled:
        return "The call was cancelled.";
    case mcp_failure::kind::closed:
        return "The server is shutting down.";
    }
    return "The tool failed.";
}

} // namespace

tool_outcome read_mcp_call_result(const json::object& result) {
    const auto unreadable = [](std::string detail) {
        return error_result(std::string(describe(mcp_failure::kind::protocol)), std::move(detail));
    };
    const json::value* const failed = result.if_contains("isError");
    if (failed != nullptr && !failed->is_bool()) {
        return unreadable("isError is no boolean");
    }
    const json::array* const blocks = array_in(result, "content");
    const json::object* const structured = object_in(result, "structuredContent");
    if (blocks == nullptr && structured == nullptr) {
        return unreadable("the answer has no content");
    }
    std::string text;
    if (blocks != nullptr) {
        for (const json::value& block : *blocks) {
            const std::optional<std::string> piece = text_of_block(block);
            if (!piece) {
                return unreadable("a content block is not as MCP describes it");
            }
            if (!text.empty() && !piece->empty()) {
                text.push_back('\n');
            }
            text.append(*piece);
        }
    }
    if (text.empty() && structured != nullptr) {
        text = json::serialize(*structured);
    }
    if (failed != nullptr && failed->get_bool()) {
        return error_result(
            text.empty() ? "The tool failed." : std::move(text), "the tool says that it failed"
        );
    }
    return tool_outcome{.what = tool_outcome::kind::result, .content = std::move(text)};
}

tool_outcome mcp_call_failure(const mcp_failure& why) {
    std::string text(describe(why.what));
    if (!why.upstream.empty()) {
        text = why.upstream;
    }
    return error_result(std::move(text), std::string(to_string(why.what)) + ": " + why.detail);
}

} // namespace agui::runner
