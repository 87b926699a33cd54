#include "session/conversation/thread.hpp"

#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"
#include "session/conversation/change_check.hpp"
#include "session/conversation/message_size.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace agui::session {

namespace {

constexpr std::pair<call_status, std::string_view> call_status_names[] = {
    {call_status::open, "open"},           {call_status::pending, "pending"},
    {call_status::answered, "answered"},   {call_status::dead, "dead"},
    {call_status::abandoned, "abandoned"}, {call_status::denied, "denied"},
    {call_status::held, "held"},           {call_status::asked, "asked"},
    {call_status::approved, "approved"},   {call_status::executing, "executing"},
    {call_status::cancelled, "cancelled"}, {call_status::indeterminate, "indeterminate"},
    {call_status::suspended, "suspended"},
};

constexpr std::pair<run_status, std::string_view> run_status_names[] = {
    {run_status::active, "active"},
    {run_status::finished, "finished"},
    {run_status::failed, "failed"},
    {run_status::cancelled, "cancelled"},
};

template <class Enum, std::size_t Size>
std::string_view
name_of(const std::pair<Enum, std::string_view> (&names)[Size], Enum value) noexcept {
    for (const auto& [known, name] : names) {
        if (known == value) {
            return name;
        }
    }
    return {};
}

template <class Enum, std::size_t Size>
std::optional<Enum>
value_of(const std::pair<Enum, std::string_view> (&names)[Size], std::string_view name) noexcept {
    for (const auto& [known, known_name] : names) {
        if (known_name == name) {
            return known;
        }
    }
    return std::nullopt;
}

void require(bool holds, const char* what) {
    if (!holds) {
        throw std::logic_error(what);
    }
}

} // namespace

std::string_view to_string(call_status value) noexcept { return name_of(call_status_names, value); }

std::optional<call_status> call_status_from_string(std::string_view name) noexcept {
    return value_of(call_status_names, name);
}

bool is_of_active_run(call_status value) noexcept {
    return value == call_status::open || value == call_status::held ||
           value == call_status::approved || value == call_status::executing;
}

std::string_view to_string(run_status value) noexcept { return name_of(run_status_names, value); }

std::optional<run_status> run_status_from_string(std::string_view name) noexcept {
    return value_of(run_status_names, name);
}

std::vector<node_index> thread_record::path(node_index tip) const {
    std::vector<node_index> numbers;
    for (node_index node = tip; node != no_node; node = nodes[node].parent) {
        require(node < nodes.size(), "a branch must end in a message of its thread");
        numbers.push_back(node);
    }
    std::ranges::reverse(numbers);
    return numbers;
}

const call_record* thread_record::find_call(std::string_view id) const noexcept {
    const auto found = std::ranges::find(calls, id, &call_record::id);
    return found == calls.end() ? nullptr : &*found;
}

void check_change(thread_size size, const changes& change) {
    std::size_t node_count = size.messages;
    std::size_t branch_count = size.branches;
    for (const stored_message& added : change.messages) {
        require(
            added.parent == no_node || added.parent < node_count,
            "a message's parent must come before it"
        );
        ++node_count;
    }
    for (const changes::branch_change& changed : change.branches) {
        require(changed.index <= branch_count, "branch numbers must be dense");
        require(
            changed.value.tip == no_node || changed.value.tip < node_count,
            "a branch must end in a message of its thread"
        );
        branch_count = std::max(branch_count, std::size_t{changed.index} + 1);
    }
    require(
        !change.head || *change.head < branch_count || *change.head == 0,
        "the head must be a branch"
    );
    for (const call_record& call : change.calls) {
        require(
            call.made_in == no_node || call.made_in < node_count,
            "a call must be made in a message of its thread"
        );
    }
}

thread_size least_size_for(const changes& change) noexcept {
    thread_size least;
    std::size_t added = 0;
    const auto needs_message = [&](node_index node) {
        if (node != no_node && node >= added) {
            least.messages = std::max(least.messages, std::size_t{node} + 1 - added);
        }
    };
    for (const stored_message& each : change.messages) {
        needs_message(each.parent);
        ++added;
    }
    std::size_t branches = 0; // Branches that the change makes, or that must exist.
    for (const changes::branch_change& changed : change.branches) {
        needs_message(changed.value.tip);
        if (changed.index > branches) {
            least.branches = std::max<std::size_t>(least.branches, changed.index);
        }
        branches = std::max(branches, std::size_t{changed.index} + 1);
    }
    if (change.head && *change.head != 0 && *change.head >= branches) {
        least.branches = std::max(least.branches, std::size_t{*change.head} + 1);
    }
    for (const call_record& call : change.calls) {
        needs_message(call.made_in);
    }
    return least;
}

void check_answered(const changes& change) {
    for (const run_record& answered : change.answered) {
        require(
            answered.status != run_status::active && !answered.answered_by.empty(),
            "a run can only answer others, which have ended"
        );
    }
}

void check_answered(const run_record& run, const changes& change) {
    check_answered(change);
    require(
        std::ranges::find(change.answered, run.run_id, &run_record::run_id) ==
            change.answered.end(),
        "a run can only answer others"
    );
}

thread_size size_after(thread_size size, const changes& change) noexcept {
    size.messages += change.messages.size();
    for (const changes::branch_change& changed : change.branches) {
        size.branches = std::max(size.branches, std::size_t{changed.index} + 1);
    }
    return size;
}

namespace {

// Both the change and the thread may have thousands of calls, so many are looked up in a map.
void apply_calls(std::vector<call_record>& calls, const std::vector<call_record>& changed) {
    constexpr std::size_t few = 4; // A run mostly changes one call: a search is cheaper then.
    count_work(calls.size() + changed.size());
    if (changed.size() <= few) {
        for (const call_record& call : changed) {
            const auto known = std::ranges::find(calls, call.id, &call_record::id);
            if (known == calls.end()) {
                calls.push_back(call);
            } else {
                *known = call;
            }
        }
        return;
    }
    text_map<std::size_t> positions;
    positions.reserve(calls.size() + changed.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
        positions.try_emplace(calls[i].id, i);
    }
    for (const call_record& call : changed) {
        const auto [known, is_new] = positions.try_emplace(call.id, calls.size());
        if (is_new) {
            calls.push_back(call);
        } else {
            calls[known->second] = call;
        }
    }
}

} // namespace

bool changes_conversation(const changes& change) noexcept {
    return !change.messages.empty() || !change.branches.empty() || change.head ||
           !change.calls.empty() || change.offered_tools || change.context ||
           change.last_request_had_history || change.state;
}

document_sizes sizes_after(document_sizes sizes, const changes& change) {
    if (change.state) {
        sizes.state = change.state->view().size();
    }
    if (change.offered_tools) {
        sizes.offered_tools = stored_size(*change.offered_tools);
    }
    if (change.context) {
        sizes.context = stored_size(*change.context);
    }
    return sizes;
}

std::uint64_t bytes_after(const thread_record& thread, const changes& change) {
    std::uint64_t bytes = thread.bytes - thread.documents.total();
    bytes += sizes_after(thread.documents, change).total();
    for (const stored_message& added : change.messages) {
        bytes += stored_size(added.message);
    }
    return bytes;
}

void apply(thread_record& thread, const changes& change) {
    check_change(size_of(thread), change);
    thread.bytes = bytes_after(thread, change);
    thread.documents = sizes_after(thread.documents, change);
    thread.version += changes_conversation(change) ? 1 : 0;
    thread.nodes.append(change.messages);
    for (const changes::branch_change& changed : change.branches) {
        if (changed.index == thread.branches.size()) {
            thread.branches.push_back(changed.value);
        } else {
            thread.branches[changed.index] = changed.value;
        }
    }
    apply_calls(thread.calls, change.calls);
    const auto replace = [](auto& member, const auto& given) {
        if (given) {
            member = *given;
        }
    };
    replace(thread.head, change.head);
    replace(thread.offered_tools, change.offered_tools);
    replace(thread.context, change.context);
    replace(thread.last_request_had_history, change.last_request_had_history);
    replace(thread.state, change.state);
    replace(thread.agent_id, change.agent_id);
    replace(thread.title, change.title);
    replace(thread.archived, change.archived);
    replace(thread.metadata, change.metadata);
    if (change.at != 0) {
        thread.updated_at = change.at;
        if (thread.created_at == 0) {
            thread.created_at = change.at;
        }
    }
}

} // namespace agui::session
