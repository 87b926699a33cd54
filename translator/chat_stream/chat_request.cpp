#include "translator/chat_stream/chat_request.hpp"

#include "translator/input/document_reader.hpp"
#include "translator/input/input_fields.hpp"
#include "translator/input/input_forwarded.hpp"
#include "translator/input/input_parts.hpp"
#include "translator/input/input_tools.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace agui::translator {
namespace {

using boost::json::object;
using boost::json::value;

// As long as any path of a file system (PATH_MAX), and no longer than a header that is passed to
// tools.
constexpr std::size_t max_workspace_root_bytes = 4'096;

constexpr std::array<std::string_view, 13> known_members{
    "sessionId",      "session_id",   "messageId",     "message_id", "message",
    "toolResults",    "tool_results", "tools",         "model",      "workspaceRoot",
    "workspace_root", "responseMode", "response_mode",
};
// Members that may differ in a repeat of a request. A client that repeats a request without a
// session may add the session made for it. With another session, and so another thread, it is no
// repeat.
constexpr std::array<std::string_view, 6> uncounted_members{
    "sessionId", "session_id", "messageId", "message_id", "responseMode", "response_mode",
};

/// A text, or parts in the form of an AG-UI message; nullopt if the member is absent.
result<std::optional<session::content>> read_content(
    const object& of, std::string_view name, std::string_view path, const input_limits& limits,
    std::vector<std::string>& notes
) {
    const value* given = find_member(of, name);
    const std::string where = joined(path, name);
    if (given == nullptr) {
        return std::optional<session::content>();
    }
    if (const auto* text = given->if_string()) {
        return std::optional<session::content>(std::string(*text));
    }
    const auto* parts = given->if_array();
    if (parts == nullptr) {
        return invalid_input(where, "must be a string or an array of parts");
    }
    if (parts->size() > limits.max_parts_per_message) {
        return invalid_input(
            where,
            "must not have more than " + std::to_string(limits.max_parts_per_message) + " elements"
        );
    }
    auto read = read_parts(*parts, where, notes);
    if (!read) {
        return read.error();
    }
    return std::optional<session::content>(std::move(*read));
}

result<session::message> read_tool_result(
    const value& given, const std::string& path, const input_limits& limits,
    std::vector<std::string>& notes
) {
    const auto fields = read_object(given, path);
    if (!fields) {
        return fields.error();
    }
    session::message out;
    out.role = session::role::tool;
    auto call_id = read_required_text(**fields, "toolCallId", path);
    if (!call_id) {
        return call_id.error();
    }
    const std::string id_path = joined(path, "toolCallId");
    if (call_id->empty()) {
        return invalid_input(id_path, "must not be empty");
    }
    if (auto sound = check_id(*call_id, id_path, limits.max_id_bytes); !sound) {
        return sound.error();
    }
    out.tool_call_id = std::move(*call_id);
    auto error = read_text(**fields, "error", path);
    if (!error) {
        return error.error();
    }
    out.error = std::move(*error);
    // JSON.stringify drops an undefined result of a tool, so a missing member is an empty answer.
    auto content = read_content(**fields, "content", path, limits, notes);
    if (!content) {
        return content.error();
    }
    out.content = std::move(*content).value_or(std::string());
    return out;
}

result<void> read_tool_results(const value& given, const input_limits& limits, run_input& out) {
    const auto array = read_array(given, "toolResults");
    if (!array) {
        return array.error();
    }
    if ((*array)->size() >= limits.max_messages) {
        return invalid_input(
            "toolResults",
            "must have at most " + std::to_string(limits.max_messages - 1) + " elements"
        );
    }
    for (std::size_t index = 0; index < (*array)->size(); ++index) {
        auto read =
            read_tool_result((**array)[index], indexed("toolResults", index), limits, out.notes);
        if (!read) {
            return read.error();
        }
        out.messages.push_back(std::move(*read));
    }
    return {};
}

result<void> read_messages(const object& body, const input_limits& limits, run_input& out) {
    if (const value* results = find_member(body, "toolResults")) {
        if (auto done = read_tool_results(*results, limits, out); !done) {
            return done;
        }
    }
    const bool answers = !out.messages.empty();
    if (answers && out.thread_id.empty()) {
        return invalid_input("sessionId", "is required with toolResults");
    }
    auto message = read_content(body, "message", "", limits, out.notes);
    if (!message) {
        return message.error();
    }
    if (!*message && answers) {
        return {};
    }
    if (!*message || session::is_empty(**message)) {
        return invalid_input("message", "is required and must not be empty");
    }
    session::message said;
    said.role = session::role::user;
    said.content = std::move(**message);
    out.messages.push_back(std::move(said));
    return {};
}

// Returns the workspace root. The model and the values for prompts are converted to the form of an
// AG-UI client's forwardedProps, so that the same rules apply.
result<std::string>
read_forwarded_members(const object& body, const input_limits& limits, run_input& out) {
    object bag;
    std::string root;
    for (const std::string_view name : {"model", "workspaceRoot"}) {
        auto text = read_text(body, name, "");
        if (!text) {
            return text.error();
        }
        if (!*text || (*text)->empty()) {
            continue;
        }
        if (name == "workspaceRoot") {
            if (!is_sound_id(**text, max_workspace_root_bytes)) {
                return invalid_input(
                    given_spelling(body, name),
                    "must be at most 4096 bytes, without control characters"
                );
            }
            root = **text;
        }
        bag[name] = **text;
    }
    out.forwarded = read_forwarded(bag, limits, out.notes);
    return root;
}

} // namespace

result<chat_mode> read_chat_mode(std::optional<std::string_view> name) {
    if (!name || *name == "incremental") {
        return chat_mode::incremental;
    }
    if (*name == "full") {
        return chat_mode::full;
    }
    return invalid_input("responseMode", "must be \"incremental\" or \"full\"");
}

std::size_t tool_results_of(const run_input& input) {
    return static_cast<std::size_t>(
        std::ranges::count(input.messages, session::role::tool, &session::message::role)
    );
}

std::string chat_path(std::string_view input_path, std::size_t tool_results) {
    constexpr std::string_view messages = "messages[";
    if (input_path == "threadId") {
        return "sessionId";
    }
    if (input_path == "runId") {
        return "messageId";
    }
    if (input_path == "messages") {
        return tool_results > 0 ? "toolResults" : "message";
    }
    if (!input_path.starts_with(messages)) {
        return std::string(input_path);
    }
    const std::string_view rest = input_path.substr(messages.size());
    std::size_t index = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), index);
    return index < tool_results ? "toolResults[" + std::string(rest) : "message";
}

result<chat_request>
read_chat_request(std::string_view body, const input_limits& limits, memory_budget* budget) {
    document_rules rules;
    rules.max_depth = limits.max_json_depth;
    rules.built = known_members;
    rules.uncounted = uncounted_members;
    rules.budget = budget;
    auto read = read_document(body, rules);
    if (!read) {
        return read.error();
    }
    const object* fields = read->value.if_object();
    if (fields == nullptr) {
        return invalid_input("", "must be a JSON object");
    }
    chat_request out;
    out.input.projection = projection::v1_1;
    auto session_id = read_id(*fields, "sessionId", limits.max_id_bytes);
    if (!session_id) {
        return session_id.error();
    }
    out.input.thread_id = std::move(*session_id);
    auto message_id = read_id(*fields, "messageId", limits.max_id_bytes);
    if (!message_id) {
        return message_id.error();
    }
    out.input.run_id = std::move(*message_id);
    const auto mode_name = read_text(*fields, "responseMode", "");
    if (!mode_name) {
        return mode_name.error();
    }
    const auto mode =
        read_chat_mode(*mode_name ? std::optional<std::string_view>(**mode_name) : std::nullopt);
    if (!mode) {
        return mode.error();
    }
    out.mode = *mode;
    if (auto done = read_messages(*fields, limits, out.input); !done) {
        return done.error();
    }
    if (const value* tools = find_member(*fields, "tools")) {
        if (auto done = read_tools(*tools, limits, out.input); !done) {
            return done.error();
        }
    }
    auto root = read_forwarded_members(*fields, limits, out.input);
    if (!root) {
        return root.error();
    }
    out.workspace_root = std::move(*root);
    out.input.unknown_members = std::move(read->skipped);
    out.input.canonical = std::move(read->canonical);
    return out;
}

} // namespace agui::translator
