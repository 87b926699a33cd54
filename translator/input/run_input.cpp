#include "translator/input/run_input.hpp"

#include "translator/input/document_reader.hpp"
#include "translator/input/input_fields.hpp"
#include "translator/input/input_forwarded.hpp"
#include "translator/input/input_messages.hpp"
#include "translator/input/input_tools.hpp"

#include <array>
#include <utility>

namespace agui::translator {
namespace {

using boost::json::object;
using boost::json::value;

constexpr std::array<std::string_view, 2> run_id_members{"runId", "run_id"};
constexpr std::array<std::string_view, 2> forwarded_members{"forwardedProps", "forwarded_props"};
constexpr std::array<std::string_view, 14> known_members{
    "threadId",       "thread_id",       "runId",           "run_id",
    "parentRunId",    "parent_run_id",   "protocolVersion", "protocol_version",
    "forwardedProps", "forwarded_props", "messages",        "tools",
    "context",        "resume",
};

result<void> read_ids(const object& body, const input_limits& limits, run_input& out) {
    struct target {
        std::string_view name;
        bool required;
        std::string& id;
    };
    const target targets[] = {
        {"threadId", true, out.thread_id},
        {"runId", true, out.run_id},
        {"parentRunId", false, out.parent_run_id},
    };
    for (const target& wanted : targets) {
        auto id = read_id(body, wanted.name, limits.max_id_bytes);
        if (!id) {
            return id.error();
        }
        if (wanted.required && id->empty()) {
            return invalid_input(
                given_spelling(body, wanted.name), "is required and must not be empty"
            );
        }
        wanted.id = std::move(*id);
    }
    return {};
}

result<void> read_version(const object& body, run_input& out) {
    const auto declared = read_text(body, "protocolVersion", "");
    if (!declared) {
        return declared.error();
    }
    const auto form =
        choose_projection(*declared ? std::optional<std::string_view>(**declared) : std::nullopt);
    if (!form) {
        return form.error();
    }
    out.projection = *form;
    return {};
}

result<void> read_context(const value& given, run_input& out) {
    const auto array = read_array(given, "context");
    if (!array) {
        return array.error();
    }
    out.has_context = true;
    for (std::size_t index = 0; index < (*array)->size(); ++index) {
        const std::string path = indexed("context", index);
        const auto entry = read_object((**array)[index], path);
        if (!entry) {
            return entry.error();
        }
        auto description = read_text(**entry, "description", path);
        if (!description) {
            return description.error();
        }
        auto text = read_required_text(**entry, "value", path);
        if (!text) {
            return text.error();
        }
        out.context.push_back({std::move(*description).value_or(std::string()), std::move(*text)});
    }
    return {};
}

result<resume_entry>
read_resume_entry(const value& given, const std::string& path, const input_limits& limits) {
    const auto entry = read_object(given, path);
    if (!entry) {
        return entry.error();
    }
    resume_entry out;
    auto id = read_required_text(**entry, "interruptId", path);
    if (!id) {
        return id.error();
    }
    const std::string id_path = joined(path, "interruptId");
    if (id->empty()) {
        return invalid_input(id_path, "must not be empty");
    }
    if (auto sound = check_id(*id, id_path, limits.max_id_bytes); !sound) {
        return sound.error();
    }
    out.interrupt_id = std::move(*id);
    const auto status = read_required_text(**entry, "status", path);
    if (!status) {
        return status.error();
    }
    if (*status != "resolved" && *status != "cancelled") {
        return invalid_input(joined(path, "status"), "must be \"resolved\" or \"cancelled\"");
    }
    out.cancelled = *status == "cancelled";
    if (const value* metadata = find_member(**entry, "metadata")) {
        if (!metadata->is_object()) {
            return invalid_input(joined(path, "metadata"), "must be an object");
        }
    }
    if (const value* payload = find_member(**entry, "payload")) {
        // false, 0 and "" are valid answers.
        out.payload.emplace(*payload, boost::json::storage_ptr());
    }
    return out;
}

result<void> read_resume(const value& given, const input_limits& limits, run_input& out) {
    const auto array = read_array(given, "resume");
    if (!array) {
        return array.error();
    }
    for (std::size_t index = 0; index < (*array)->size(); ++index) {
        auto entry = read_resume_entry((**array)[index], indexed("resume", index), limits);
        if (!entry) {
            return entry.error();
        }
        out.resume.push_back(std::move(*entry));
    }
    return {};
}

result<void> read_lists(const object& body, const input_limits& limits, run_input& out) {
    const value* messages = find_member(body, "messages");
    if (messages == nullptr) {
        return invalid_input("messages", "is required and must be an array");
    }
    auto read = read_messages(*messages, limits, out.notes);
    if (!read) {
        return read.error();
    }
    out.messages = std::move(*read);
    if (const value* tools = find_member(body, "tools")) {
        if (auto done = read_tools(*tools, limits, out); !done) {
            return done;
        }
    }
    if (const value* context = find_member(body, "context")) {
        if (auto done = read_context(*context, out); !done) {
            return done;
        }
    }
    if (const value* resume = find_member(body, "resume")) {
        return read_resume(*resume, limits, out);
    }
    return {};
}

bool asks_for_suggestions(const run_input& input) {
    constexpr std::string_view tool = "copilotkitSuggest";
    return input.tools && input.tools->size() == 1 && input.tools->front().name == tool &&
           input.forwarded.tool_choice == tool;
}

} // namespace

result<json_text>
read_body_text(std::string_view body, std::size_t max_json_depth, memory_budget* budget) {
    document_rules rules;
    rules.max_depth = max_json_depth;
    rules.all_as_text = true;
    rules.budget = budget;
    auto read = read_document(body, rules);
    if (!read) {
        return read.error();
    }
    return std::move(read->text);
}

result<value> parse_body(std::string_view body, std::size_t max_json_depth) {
    document_rules rules;
    rules.max_depth = max_json_depth;
    auto read = read_document(body, rules);
    if (!read) {
        return read.error();
    }
    return value(read->value, boost::json::storage_ptr()); // Copied out of the reader's storage.
}

result<run_input>
read_run_input(std::string_view body, const input_limits& limits, memory_budget* budget) {
    document_rules rules;
    rules.max_depth = limits.max_json_depth;
    rules.built = known_members;
    rules.as_text = "state";
    rules.uncounted = run_id_members;
    rules.with_secrets = forwarded_members;
    rules.is_secret = is_secret_name;
    rules.budget = budget;
    auto read = read_document(body, rules);
    if (!read) {
        return read.error();
    }
    const object* fields = read->value.if_object();
    if (fields == nullptr) {
        return invalid_input("", "must be a JSON object");
    }
    run_input out;
    if (auto done = read_ids(*fields, limits, out); !done) {
        return done.error();
    }
    if (auto done = read_version(*fields, out); !done) {
        return done.error();
    }
    if (auto done = read_lists(*fields, limits, out); !done) {
        return done.error();
    }
    if (read->text.view().size() > state_bytes_max) {
        return state_too_large();
    }
    if (!read->text.is_null()) {
        out.state = std::move(read->text);
    }
    if (const value* bag = find_member(*fields, "forwardedProps")) {
        out.forwarded = read_forwarded(*bag, limits, out.notes);
    }
    out.is_for_suggestions = asks_for_suggestions(out);
    out.forwarded.ephemeral = out.forwarded.ephemeral || out.is_for_suggestions;
    out.unknown_members = std::move(read->skipped);
    out.canonical = std::move(read->canonical);
    return out;
}

} // namespace agui::translator
