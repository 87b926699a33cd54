#include "session/history/shown_messages.hpp"

#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"
#include "session/history/history_selection.hpp"
#include "session/history/input_note.hpp"
#include "session/history/missing_result.hpp"
#include "session/history/turn_failure.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace agui::session {

namespace {

using id_set = view_set;

void add_answered(id_set& answered, const message& value) {
    if (value.role == role::tool) {
        answered.insert(value.tool_call_id);
    }
}

std::optional<call_status> status_in(const call_statuses& statuses, const std::string& call) {
    const auto found = statuses.find(call);
    return found == statuses.end() ? std::nullopt : std::optional(found->second);
}

// An answer that paused before it said anything, or that has only media: clients were shown no
// message.
bool is_silent(const message& value) {
    const bool may_be = value.origin && (value.origin->end == turn_end::paused ||
                                         value.origin->end == turn_end::media);
    return value.role == role::assistant && may_be && value.tool_calls.empty() &&
           is_blank(value.content);
}

class view {
public:
    view(const thread_record& thread, const std::vector<node_index>& path)
        : statuses_(statuses_of(thread)) {
        count_work(path.size());
        for (const node_index node : path) {
            expect(thread.nodes[node].message);
        }
    }

    // Its call gets no error result if it is a result.
    void expect(const message& stored) { add_answered(answered_, stored); }

    [[nodiscard]] bool has_call(const std::string& id) const { return made_in_.contains(id); }

    void add(const message& stored) {
        if (is_silent(stored) || is_input_note(stored)) {
            return;
        }
        if (is_failure_note(stored)) {
            if (last_spoken_) {
                const auto& [at, result] = *last_spoken_;
                show_failure(stored, result ? results_[at][*result] : out_[at]);
            }
            return;
        }
        if (stored.role == role::activity && replaces_activity(stored)) {
            return;
        }
        if (stored.role != role::tool && stored.role != role::activity) {
            add_missing();
        }
        if (stored.role == role::tool) {
            add_result(stored);
            return;
        }
        if (stored.role != role::reasoning && stored.role != role::activity) {
            last_spoken_ = place{out_.size(), std::nullopt};
            last_own_ = stored.subagent_run_id.empty() ? out_.size() : last_own_;
        }
        for (const tool_call& call : stored.tool_calls) {
            made_in_.try_emplace(call.id, out_.size());
            const std::optional<call_status> status = status_in(statuses_, call.id);
            // Each call once, also if a client has sent a message with it twice.
            if (is_unanswerable(status) && answered_.insert(call.id).second) {
                missing_.push_back(shown_missing_result(call, status));
                missing_.back().subagent_run_id = stored.subagent_run_id;
            }
        }
        out_.push_back(stored);
    }

    std::vector<message> take() {
        add_missing();
        if (results_.empty()) {
            return std::move(out_);
        }
        std::vector<message> all;
        for (std::size_t at = 0; at < out_.size(); ++at) {
            all.push_back(std::move(out_[at]));
            if (const auto behind = results_.find(at); behind != results_.end()) {
                std::ranges::move(behind->second, std::back_inserter(all));
            }
        }
        return all;
    }

private:
    // Of a message: its index in out_, or the index of a call's message and the number of the
    // result behind it.
    struct place {
        std::size_t at = 0;
        std::optional<std::size_t> result;
    };

    // A later version of an activity is stored as another message with its id. It is shown in the
    // place of the first one, as clients do.
    bool replaces_activity(const message& stored) {
        const auto [known, is_new] = activities_.emplace(stored.id, out_.size() + missing_.size());
        if (is_new) {
            add_missing();
            return false;
        }
        message& shown = out_[known->second];
        shown.activity_type = stored.activity_type;
        shown.activity = stored.activity;
        if (stored.metadata && shown.metadata) {
            for (const auto& member : *stored.metadata) {
                (*shown.metadata)[member.key()] = member.value();
            }
        } else if (stored.metadata) {
            shown.metadata = stored.metadata;
        }
        return true;
    }

    // Clients put a result behind the message with its call, also if other agents or the user have
    // spoken since then.
    void add_result(const message& stored) {
        const auto made = made_in_.find(stored.tool_call_id);
        if (made == made_in_.end()) {
            last_spoken_ = place{out_.size(), std::nullopt};
            last_own_ = out_.size();
            out_.push_back(stored);
            return;
        }
        std::vector<message>& behind = results_[made->second];
        if (made->second >= last_own_) {
            last_spoken_ = place{made->second, behind.size()};
        }
        behind.push_back(stored);
    }

    void add_missing() {
        std::ranges::move(missing_, std::back_inserter(out_));
        missing_.clear();
    }

    const call_statuses statuses_;
    id_set answered_;
    std::vector<message> out_;
    view_map<std::size_t> activities_; // Their indices in out_.
    view_map<std::size_t> made_in_;    // Call => index of its first message in out_.
    std::vector<message> missing_;     // Results missing for the last message with calls.
    std::unordered_map<std::size_t, std::vector<message>> results_; // Behind the message in out_.
    std::optional<place> last_spoken_;
    std::size_t last_own_ = 0; // Index of the last spoken message that is no subagent's.
};

} // namespace

std::vector<message> shown_messages(const thread_record& thread, node_index tip, node_index end) {
    const std::vector<node_index> path = thread.path(tip);
    view shown(thread, path);
    const std::vector<node_index> elsewhere = results_elsewhere(thread, path);
    for (const node_index node : elsewhere) {
        shown.expect(thread.nodes[node].message);
    }
    for (const node_index node : path) {
        if (node < end) {
            shown.add(thread.nodes[node].message);
        }
    }
    for (const node_index node : elsewhere) {
        if (node < end && shown.has_call(thread.nodes[node].message.tool_call_id)) {
            shown.add(thread.nodes[node].message);
        }
    }
    return shown.take();
}

std::vector<tool_call> calls_without_result(const std::vector<message>& given) {
    id_set answered;
    for (const message& each : given) {
        add_answered(answered, each);
    }
    std::vector<tool_call> calls;
    for (const message& each : given) {
        for (const tool_call& call : each.tool_calls) {
            if (answered.insert(call.id).second) {
                calls.push_back({call.id, call.name, {}, {}, {}});
            }
        }
    }
    return calls;
}

std::vector<message>
missing_results(const thread_record& thread, const std::vector<tool_call>& calls) {
    std::vector<message> missing;
    if (calls.empty()) {
        return missing;
    }
    const call_statuses statuses = statuses_of(thread);
    for (const tool_call& call : calls) {
        const std::optional<call_status> status = status_in(statuses, call.id);
        // A call without a record is not this thread's, and an answered one has a result.
        if (status && *status != call_status::answered && is_unanswerable(status)) {
            missing.push_back(shown_missing_result(call, status));
        }
    }
    return missing;
}

} // namespace agui::session
