#include "translator/run_input.hpp"

#include "translator/input_fields.hpp"
#include "translator/input_forwarded.hpp"
#include "translator/input_messages.hpp"
#include "translator/input_tools.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace agui::translator {
namespace {

using boost::json::object;
using boost::json::value;

/// A top-level member and the spelling that senders of Python models use.
struct member_name {
    std::string_view camel;
    std::string_view snake;
};

constexpr member_name thread_id{"threadId", "thread_id"};
constexpr member_name run_id{"runId", "run_id"};
constexpr member_name parent_run_id{"parentRunId", "parent_run_id"};
constexpr member_name protocol_version{"protocolVersion", "protocol_version"};
constexpr member_name forwarded_props{"forwardedProps", "forwarded_props"};

constexpr std::array<std::string_view, 15> known_members{
    "threadId",       "thread_id",       "runId",           "run_id",
    "parentRunId",    "parent_run_id",   "protocolVersion", "protocol_version",
    "forwardedProps", "forwarded_props", "state",           "messages",
    "tools",          "context",         "resume",
};

/// The spelling that is given; camel case where both or neither are.
std::string_view spelling(const object& body, const member_name& name) {
    return find_member(body, name.camel) == nullptr && find_member(body, name.snake) != nullptr
               ? name.snake
               : name.camel;
}

result<std::string>
read_id(const object& body, const member_name& name, bool required, const input_limits& limits) {
    const std::string_view key = spelling(body, name);
    auto text = read_text(body, key, "");
    if (!text) {
        return text.error();
    }
    if (required && (!*text || (*text)->empty())) {
        return invalid_input(std::string(key), "is required and must not be empty");
    }
    std::string id = std::move(*text).value_or(std::string());
    if (auto sound = check_id(id, key, limits.max_id_bytes); !sound) {
        return sound.error();
    }
    return id;
}

result<void> read_ids(const object& body, const input_limits& limits, run_input& out) {
    struct target {
        member_name name;
        bool required;
        std::string& id;
    };
    const target targets[] = {
        {thread_id, true, out.thread_id},
        {run_id, true, out.run_id},
        {parent_run_id, false, out.parent_run_id},
    };
    for (const target& wanted : targets) {
        auto id = read_id(body, wanted.name, wanted.required, limits);
        if (!id) {
            return id.error();
        }
        wanted.id = std::move(*id);
    }
    return {};
}

result<void> read_version(const object& body, run_input& out) {
    const std::string_view key = spelling(body, protocol_version);
    const auto declared = read_text(body, key, "");
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
        out.payload = *payload; // false, 0 and "" are answers.
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

std::size_t count_unknown_members(const object& body) {
    const auto unknown = std::count_if(body.begin(), body.end(), [](const auto& member) {
        const std::string_view key = member.key();
        return std::find(known_members.begin(), known_members.end(), key) == known_members.end();
    });
    return static_cast<std::size_t>(unknown);
}

} // namespace

result<value> parse_body(std::string_view body, std::size_t max_json_depth) {
    boost::json::parse_options options;
    options.max_depth = max_json_depth;
    boost::json::error_code ec;
    value parsed = boost::json::parse(body, ec, {}, options);
    if (!ec) {
        return parsed;
    }
    std::string detail = "the body is not JSON in UTF-8";
    if (ec == boost::json::error::too_deep) {
        detail = "the body nests deeper than " + std::to_string(max_json_depth) + " levels";
    }
    return failure{
        .code = errc::invalid_json,
        .detail = std::move(detail),
        .path = {},
        .active_run_id = {},
    };
}

result<run_input> read_run_input(std::string_view body, const input_limits& limits) {
    auto parsed = parse_body(body, limits.max_json_depth);
    if (!parsed) {
        return parsed.error();
    }
    object* fields = parsed->if_object();
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
    if (const value* state = find_member(*fields, "state")) {
        out.state = *state;
    }
    if (const value* bag = find_member(*fields, spelling(*fields, forwarded_props))) {
        out.forwarded = read_forwarded(*bag, out.notes);
    }
    out.unknown_members = count_unknown_members(*fields);
    for (const std::string_view key : {forwarded_props.camel, forwarded_props.snake}) {
        if (value* bag = fields->if_contains(key)) {
            drop_secrets(*bag);
        }
    }
    for (const std::string_view key : {"runId", "run_id"}) {
        fields->erase(key);
    }
    out.canonical = canonical_json(*parsed);
    return out;
}

} // namespace agui::translator
