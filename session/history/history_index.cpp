#include "session/history/history_index.hpp"

#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"
#include "session/conversation/content_form.hpp"
#include "session/history/history_rules.hpp"

#include <algorithm>

namespace agui::session {

namespace {

std::optional<std::size_t> look_up(const view_map<std::size_t>& where, std::string_view id) {
    const auto found = where.find(id);
    return found == where.end() ? std::nullopt : std::optional(found->second);
}

} // namespace

thread_index::thread_index(const thread_record& thread, const std::vector<message>& given)
    : thread_(thread) {
    count_work(thread.nodes.size() + thread.calls.size() + given.size());
    for (const message& each : given) {
        by_id_.try_emplace(each.id);
        if (each.role == role::tool) {
            results_.try_emplace(each.tool_call_id, nullptr);
        }
    }
    for (node_index node = 0; node < thread.nodes.size(); ++node) {
        const message& stored = thread.nodes[node].message;
        if (const auto known = by_id_.find(stored.id); known != by_id_.end()) {
            known->second.exist = true;
            if (is_user(stored)) {
                known->second.users.push_back(node);
            }
        }
        if (stored.role == role::tool) {
            const auto answered = results_.find(stored.tool_call_id);
            if (answered != results_.end() && answered->second == nullptr) {
                answered->second = &stored;
            }
        }
    }
    for (const call_record& call : thread.calls) {
        calls_.try_emplace(call.id, &call);
    }
}

const call_record* thread_index::find_call(std::string_view id) const {
    const auto found = calls_.find(id);
    return found == calls_.end() ? nullptr : found->second;
}

const std::vector<node_index>& thread_index::users_of(std::string_view id) const {
    return by_id_.at(id).users;
}

const message* thread_index::result_of(std::string_view call_id) const {
    return results_.at(call_id);
}

bool thread_index::has_message(std::string_view id) {
    if (const auto given = by_id_.find(id); given != by_id_.end()) {
        return given->second.exist;
    }
    if (!all_ids_) {
        count_work(thread_.nodes.size());
        all_ids_.emplace();
        for (const stored_message& node : thread_.nodes) {
            all_ids_->insert(node.message.id);
        }
    }
    return all_ids_->contains(id);
}

branch_index::branch_index(const thread_record& thread, const std::vector<node_index>& path) {
    count_work(path.size());
    for (std::size_t i = 0; i < path.size(); ++i) {
        const message& stored = thread.nodes[path[i]].message;
        by_id_[stored.id] = i;
        if (stored.role == role::tool) {
            results_[stored.tool_call_id] = i;
        }
        for (const tool_call& call : stored.tool_calls) {
            calls_[call.id] = i;
        }
    }
}

std::optional<std::size_t> branch_index::find(const message& given) const {
    std::optional<std::size_t> last = look_up(by_id_, given.id);
    if (given.role == role::tool) {
        // An answer that took no effect (its call is dead) still shows that the client saw the
        // call.
        last = std::max(last, look_up(results_, given.tool_call_id));
        last = std::max(last, look_up(calls_, given.tool_call_id));
    }
    for (const tool_call& call : given.tool_calls) {
        last = std::max(last, look_up(calls_, call.id));
    }
    return last;
}

content_match match_by_content(
    const thread_record& thread, const std::vector<node_index>& branch_users,
    const std::vector<const message*>& given
) {
    std::vector<content_form> wanted;
    wanted.reserve(given.size());
    for (const message* value : given) {
        wanted.emplace_back(value->content);
    }
    // The prefix function of Knuth, Morris and Pratt: for each wanted element, the length of the
    // longest prefix that is also a suffix ending there.
    std::vector<std::size_t> repeats(wanted.size());
    for (std::size_t i = 1, length = 0; i < wanted.size();) {
        count_work();
        if (wanted[i] == wanted[length]) {
            repeats[i++] = ++length;
        } else if (length > 0) {
            length = repeats[length - 1];
        } else {
            ++i;
        }
    }
    content_match best;
    std::size_t length = 0;
    for (std::size_t at = 0; at < branch_users.size() && !wanted.empty(); ++at) {
        const content_form stored(thread.nodes[branch_users[at]].message.content);
        if (length == wanted.size()) {
            length = repeats[length - 1];
        }
        count_work();
        while (length > 0 && !(stored == wanted[length])) {
            count_work();
            length = repeats[length - 1];
        }
        if (stored == wanted[length]) {
            ++length;
        }
        if (length > 0 && length >= best.known) {
            best = {length, at};
        }
    }
    return best;
}

} // namespace agui::session
