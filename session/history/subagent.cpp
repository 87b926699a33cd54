#include "session/history/subagent.hpp"

#include "session/base/work_count.hpp"
#include "session/conversation/message_size.hpp"

#include <utility>

namespace agui::session {

namespace {

constexpr std::string_view run_suffix = ":agent";
constexpr std::string_view task_suffix = ":task";

std::string_view owner_in(const thread_record& thread, const call_record& call) {
    return call.made_in < thread.nodes.size()
               ? std::string_view(thread.nodes[call.made_in].message.subagent_run_id)
               : std::string_view();
}

void append_to(thread_record& thread, stored_message node) {
    node.parent = thread.nodes.empty() ? no_node : static_cast<node_index>(thread.nodes.size() - 1);
    thread.bytes += stored_size(node.message);
    thread.nodes.push_back(std::move(node));
}

} // namespace

std::string subagent_run_id(std::string_view call_id) {
    return std::string(call_id).append(run_suffix);
}

std::string_view call_of_subagent(std::string_view subagent_run_id) noexcept {
    return subagent_run_id.ends_with(run_suffix)
               ? subagent_run_id.substr(0, subagent_run_id.size() - run_suffix.size())
               : std::string_view();
}

message task_message(std::string_view call_id, std::string task) {
    message made;
    made.id = subagent_run_id(call_id) + std::string(task_suffix);
    made.role = role::user;
    made.content = std::move(task);
    return made;
}

thread_record subagent_thread(
    const thread_record& thread, node_index tip, std::string_view call_id, std::string task
) {
    const std::string own_id = subagent_run_id(call_id);
    thread_record made;
    made.key = thread.key;
    stored_message first;
    first.message = task_message(call_id, std::move(task));
    append_to(made, std::move(first));
    count_work(thread.nodes.size() + thread.calls.size());
    std::vector<node_index> places(thread.nodes.size(), no_node);
    for (const node_index node : thread.path(tip)) {
        if (thread.nodes[node].message.subagent_run_id == own_id) {
            stored_message own = thread.nodes[node];
            own.message.subagent_run_id.clear();
            if (own.message.id == made.nodes[0].message.id) {
                made.nodes = {};
                made.bytes = 0;
            }
            places[node] = static_cast<node_index>(made.nodes.size());
            append_to(made, std::move(own));
        }
    }
    for (const call_record& call : thread.calls) {
        if (call.made_in < places.size() && places[call.made_in] != no_node) {
            call_record& own = made.calls.emplace_back(call);
            own.made_in = places[call.made_in];
        }
    }
    made.branches.push_back({static_cast<node_index>(made.nodes.size() - 1), 0});
    return made;
}

void add_agent_calls(
    std::string_view subagent_run_id,
    const std::function<std::string_view(std::string_view call_id)>& owner_of, text_set& calls
) {
    std::string_view call = call_of_subagent(subagent_run_id);
    while (!call.empty() && calls.insert(std::string(call)).second) {
        call = call_of_subagent(owner_of(call));
    }
}

text_set
agent_calls_of(const thread_record& thread, const std::function<bool(const call_record&)>& chosen) {
    view_map<std::string_view> owners;
    count_work(thread.calls.size());
    for (const call_record& call : thread.calls) {
        owners.emplace(call.id, owner_in(thread, call));
    }
    text_set found;
    for (const call_record& call : thread.calls) {
        if (chosen(call)) {
            add_agent_calls(
                owner_in(thread, call),
                [&owners](std::string_view id) {
                    const auto known = owners.find(id);
                    return known == owners.end() ? std::string_view() : known->second;
                },
                found
            );
        }
    }
    return found;
}

} // namespace agui::session
