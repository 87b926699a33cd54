#include "runner/mcp/mcp_call_result.hpp"

#include "runner/base/json_members.hpp"
#include "runner/mcp/mcp_tool_list.hpp"
#include "runner/tools/tool_question.hpp"
#include "session/base/json_member.hpp"
#include "session/base/sha256_text.hpp"
#include "session/base/sound_text.hpp"
#include "session/conversation/media_part.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <memory>
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
        text.append(" ").append(sound_text(name));
    }
    return text.append(": not shown]");
}

std::string note_with_type(std::string_view what, const json::object& block) {
    return note(what, string_in(block, "mimeType"));
}

/// A text unchanged; any other value, where MCP demands a text, as JSON.
std::string shown(const json::value* value) {
    if (value == nullptr || value->is_null()) {
        return {};
    }
    return value->is_string() ? std::string(text_of(value)) : json::serialize(*value);
}

/// A resource that the model may name in a later call, or to the user.
std::string describe_link(const json::object& link) {
    std::string text = "[resource ";
    text.append(sound_text(string_in(link, "uri")));
    for (const std::string_view name : {"name", "title", "description"}) {
        if (const std::string value = sound_text(string_in(link, name)); !value.empty()) {
            text.append(", ").append(name).append(": ").append(value);
        }
    }
    if (const std::string type = sound_text(string_in(link, "mimeType")); !type.empty()) {
        text.append(", type: ").append(type);
    }
    return text.append("]");
}

std::string text_of_block(const json::value& value) {
    const json::object* const block = value.if_object();
    if (block == nullptr) {
        return shown(&value);
    }
    // A kind of a later revision, or none: the model should know that there was some content.
    std::string unknown = note("content of an unknown type", {});
    if (!session::check_protocol_object(*block)) {
        return unknown;
    }
    const std::string_view type = string_in(*block, "type");
    if (type == "text" || (type.empty() && block->contains("text"))) {
        return shown(block->if_contains("text"));
    }
    if (type == "image" || type == "audio") {
        return note_with_type(type, *block);
    }
    if (type == "resource_link") {
        return describe_link(*block);
    }
    if (type == "resource") {
        const json::object* const resource = object_in(*block, "resource");
        if (resource == nullptr) {
            return note("resource", {});
        }
        if (const std::string_view uri = string_in(*resource, "uri"); is_mcp_app_uri(uri)) {
            // A page for the user (add_mcp_app()).
            return "[resource " + sound_text(uri) + ": shown to the user]";
        }
        const std::string text = shown(resource->if_contains("text"));
        const bool is_blob = text.empty() && resource->contains("blob");
        return is_blob ? note("resource", string_in(*resource, "uri")) : text;
    }
    return unknown;
}

/// The bytes of an image, an audio or a resource as a content part, not in the memory resource of
/// the answer, which counts it. Null if the block has none, or their type is unknown.
json::value media_of_block(const json::value& value) {
    const json::object* const block = value.if_object();
    if (block == nullptr || !session::check_protocol_object(*block)) {
        return {};
    }
    const std::string_view kind = string_in(*block, "type");
    const bool is_resource = kind == "resource";
    const json::object* const holder = is_resource ? object_in(*block, "resource") : block;
    if (holder == nullptr || (!is_resource && kind != "image" && kind != "audio") ||
        is_mcp_app_uri(string_in(*holder, "uri"))) {
        return {};
    }
    const std::string_view data = string_in(*holder, is_resource ? "blob" : "data");
    const std::string type = session::media_type(string_in(*holder, "mimeType"));
    const std::string_view part = session::part_type_of(type);
    if (data.empty() || type.empty() || (!is_resource && part != kind) ||
        !session::decode_base64(data)) {
        return {};
    }
    return {{"type", part}, {"source", {{"type", "data"}, {"value", data}, {"mimeType", type}}}};
}

/// Collects the blocks of a result: a text, or content parts if there is more than text.
class content_writer {
public:
    void add(const json::value& block) {
        json::value media = media_of_block(block);
        if (media.is_null()) {
            add_text(text_of_block(block));
            return;
        }
        // Models and clients that cannot take the part know by this that there is one.
        const std::string_view type = string_in(media.at("source").get_object(), "mimeType");
        add_text(
            "[" + std::string(string_in(media.get_object(), "type")) + " " + std::string(type) + "]"
        );
        flush();
        parts_.push_back(std::move(media));
    }

    [[nodiscard]] session::content take() {
        if (parts_.empty()) {
            return std::move(text_);
        }
        flush();
        return std::move(parts_);
    }

private:
    void add_text(const std::string& piece) {
        text_.append(text_.empty() || piece.empty() ? "" : "\n").append(piece);
    }
    void flush() {
        if (!text_.empty()) {
            parts_.push_back({{"type", "text"}, {"text", std::exchange(text_, {})}});
        }
    }

    std::string text_;
    json::array parts_;
};

/// Servers also send a single block or a bare text.
session::content content_of(const json::value* content) {
    content_writer out;
    if (const json::array* const blocks = array_of(content)) {
        for (const json::value& block : *blocks) {
            out.add(block);
        }
    } else if (content != nullptr && !content->is_null()) {
        out.add(*content);
    }
    return out.take();
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
    case mcp_failure::kind::memory:
        return "The server has not enough memory for the tool's answer.";
    case mcp_failure::kind::closed:
        return "The server is shutting down.";
    case mcp_failure::kind::changed:
        return "The tool is not available, because its definition has changed.";
    case mcp_failure::kind::absent:
        return "The tool's server does not offer the tool to this user.";
    case mcp_failure::kind::unconfirmed:
        return "The tool is not available, because its definition could not be checked.";
    }
    return "The tool failed.";
}

} // namespace

namespace {

tool_outcome outcome_of_result(const json::object& result) {
    session::content content = content_of(result.if_contains("content"));
    if (session::is_empty(content)) {
        content = shown(result.if_contains("structuredContent"));
    }
    const json::value* const failed = result.if_contains("isError");
    if (failed != nullptr && failed->is_bool() && failed->get_bool()) {
        std::string text = session::text_of(content);
        return error_result(
            text.empty() ? "The tool failed." : std::move(text), "the tool reported a failure"
        );
    }
    return tool_outcome{.what = tool_outcome::kind::result, .content = std::move(content)};
}

} // namespace

tool_outcome read_mcp_call_result(const json::object& result) {
    auto question = read_question(result);
    tool_outcome outcome =
        question ? tool_outcome::ask(*std::move(question)) : outcome_of_result(result);
    outcome.effects = read_tool_effects(result);
    return outcome;
}

namespace {

/// The URI of the first embedded resource that an MCP App shows; empty if there is none.
std::string_view embedded_app(const json::object& result) {
    const json::array* const blocks = array_in(result, "content");
    for (std::size_t i = 0; blocks != nullptr && i < blocks->size(); ++i) {
        const json::object* const block = (*blocks)[i].if_object();
        const json::object* const resource =
            block == nullptr ? nullptr : object_in(*block, "resource");
        if (resource != nullptr && is_mcp_app_uri(string_in(*resource, "uri"))) {
            return string_in(*resource, "uri");
        }
    }
    return {};
}

} // namespace

void add_mcp_app(tool_outcome& outcome, const json::object& result, const mcp_app_call& call) {
    const std::string_view uri =
        call.resource_uri.empty() ? embedded_app(result) : std::string_view(call.resource_uri);
    if (uri.empty() || outcome.what == tool_outcome::kind::input) {
        return;
    }
    // Not in the memory resource of the answer, which counts it.
    json::object shown(result, json::storage_ptr());
    if (json::value* const meta = shown.if_contains("_meta");
        meta != nullptr && meta->is_object()) {
        meta->get_object().erase(effects_member);
    }
    auto effects = outcome.effects == nullptr ? std::make_shared<tool_effects>()
                                              : std::make_shared<tool_effects>(*outcome.effects);
    activity& app = effects->activities.emplace_back();
    app.type = "mcp-apps";
    app.content = {
        {"result", std::move(shown)},
        {"resourceUri", uri},
        {"serverHash", sha256_text(call.server).substr(0, 32)},
        {"serverId", call.server},
        {"toolInput", json::object(call.arguments, json::storage_ptr())}
    };
    outcome.effects = std::move(effects);
}

tool_outcome mcp_call_failure(const mcp_failure& why) {
    std::string text(describe(why.what));
    if (!why.upstream.empty()) {
        text = why.upstream;
    }
    return error_result(std::move(text), std::string(to_string(why.what)) + ": " + why.detail);
}

} // namespace agui::runner
