#include "tests/support/thread_builder.hpp"

#include "session/conversation/message_json.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace agui::test {

using namespace session;

message user(std::string id, std::string text) {
    return other(role::user, std::move(id), std::move(text));
}

tool_call call(std::string id, std::string name, std::string arguments) {
    return tool_call{std::move(id), std::move(name), std::move(arguments), {}, {}};
}

message assistant(std::string id, std::string text, std::vector<tool_call> calls) {
    message value = other(role::assistant, std::move(id), std::move(text));
    value.tool_calls = std::move(calls);
    return value;
}

message answer(const std::string& call_id, std::string text) {
    message value = other(role::tool, call_id + ":tool", std::move(text));
    value.tool_call_id = call_id;
    return value;
}

message other(session::role role, std::string id, std::string text) {
    message value;
    value.id = std::move(id);
    value.role = role;
    value.content = std::move(text);
    return value;
}

bool is_server_tool(std::string_view name) { return name == "get_weather"; }

session::node_index tip_of(const session::thread_record& thread) {
    return thread.branches.at(thread.head).tip;
}

thread_builder& thread_builder::add(message value) {
    if (thread_.branches.empty()) {
        thread_.branches.emplace_back();
    }
    branch& head = thread_.branches.at(thread_.head);
    stored_message node;
    node.parent = head.tip;
    node.message = std::move(value);
    head.tip = static_cast<node_index>(thread_.nodes.size());
    thread_.nodes.push_back(std::move(node));
    return *this;
}

thread_builder& thread_builder::user(std::string id, std::string text) {
    return add(test::user(std::move(id), std::move(text)));
}

thread_builder& thread_builder::assistant(
    std::string id, std::string text, std::vector<tool_call> calls, call_status status
) {
    for (const tool_call& made : calls) {
        call_record record;
        record.id = made.id;
        record.name = made.name;
        record.run_id = "run-1";
        record.owner = is_server_tool(made.name) ? call_owner::server : call_owner::external;
        record.status = status;
        record.made_in = static_cast<node_index>(thread_.nodes.size());
        thread_.calls.push_back(std::move(record));
    }
    return add(test::assistant(std::move(id), std::move(text), std::move(calls)));
}

thread_builder& thread_builder::answer(const std::string& call_id, std::string text) {
    return add(test::answer(call_id, std::move(text))).status(call_id, call_status::answered);
}

thread_builder& thread_builder::fork(std::string_view after_id) {
    node_index tip = no_node;
    for (node_index node = 0; node < thread_.nodes.size(); ++node) {
        if (thread_.nodes[node].message.id == after_id) {
            tip = node;
        }
    }
    if (tip == no_node && !after_id.empty()) {
        throw std::logic_error("no message has this id");
    }
    thread_.head = static_cast<std::uint32_t>(thread_.branches.size());
    thread_.branches.push_back({tip, static_cast<unix_ms>(thread_.head)});
    return *this;
}

thread_builder& thread_builder::head(std::uint32_t branch) {
    thread_.head = branch;
    return *this;
}

thread_builder& thread_builder::had_history() {
    thread_.last_request_had_history = true;
    return *this;
}

thread_builder& thread_builder::offered(std::initializer_list<std::string_view> tools) {
    thread_.offered_tools.clear();
    for (const std::string_view tool : tools) {
        thread_.offered_tools.push_back({{"name", tool}});
    }
    return *this;
}

thread_builder& thread_builder::status(std::string_view call_id, call_status status) {
    const auto found = std::ranges::find(thread_.calls, call_id, &call_record::id);
    if (found == thread_.calls.end()) {
        throw std::logic_error("no call has this id");
    }
    found->status = status;
    return *this;
}

std::vector<std::string> outline(const std::vector<message>& messages) {
    std::vector<std::string> lines;
    for (const message& value : messages) {
        std::string line(to_string(value.role));
        line += ' ';
        line += value.role == role::tool ? value.tool_call_id : value.id;
        line += ": ";
        line += value.error ? "! " + *value.error : text_of(value.content);
        for (const tool_call& made : value.tool_calls) {
            line += " [" + made.id + " " + made.name + "(" + made.arguments + ")]";
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

std::vector<std::string> outline(const thread_record& thread, node_index tip) {
    std::vector<message> messages;
    for (const node_index node : thread.path(tip)) {
        messages.push_back(thread.nodes[node].message);
    }
    return outline(messages);
}

std::vector<std::string> outline(const thread_record& thread) {
    return outline(thread, thread.branches.at(thread.head).tip);
}

std::string bytes(const std::vector<message>& messages) {
    std::string lines;
    for (const message& value : messages) {
        lines += boost::json::serialize(to_json(value));
        lines += '\n';
    }
    return lines;
}

} // namespace agui::test
