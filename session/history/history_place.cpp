#include "session/history/history_place.hpp"

#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"
#include "session/conversation/content_form.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace agui::session {

namespace {

class place_finder {
public:
    place_finder(
        const thread_record& thread, const history_input& input, const history_policy& policy,
        const input_calls& given, const thread_index& index
    )
        : thread_(thread), input_(input), policy_(policy), calls_(given), index_(index) {
        for (const approval_answer& each : input.approvals) {
            approvals_.insert(call_of_approval(each.approval_id));
        }
    }

    history_place run() {
        find_last_known();
        collect_new_users();
        choose_branch();
        if (!out_.last_known && policy_.client_history == client_history::automatic) {
            know_by_content();
        }
        choose_base();
        const bool had_assistant = std::ranges::any_of(input_.messages, [](const message& given) {
            return given.role == role::assistant;
        });
        out_.had_history =
            had_assistant || (out_.last_known && out_.first_unknown() < input_.messages.size());
        return std::move(out_);
    }

private:
    // The last user message that the thread holds, by id and content. Messages before it are not
    // compared: clients drop the attachments of old messages, which is no edit.
    void find_last_known() {
        for (std::size_t i = input_.messages.size(); i > 0 && !out_.last_known; --i) {
            const message& given = input_.messages[i - 1];
            if (!is_user(given)) {
                continue;
            }
            anchors_ = nodes_of(given);
            if (!anchors_.empty()) {
                out_.last_known = i - 1;
            }
        }
    }

    // Stored user messages with this id and content.
    [[nodiscard]] std::vector<node_index> nodes_of(const message& given) const {
        std::vector<node_index> found;
        const std::vector<node_index>& same_id = index_.users_of(given.id);
        if (same_id.empty()) {
            return found;
        }
        const content_form form(given.content);
        count_work(same_id.size());
        for (const node_index node : same_id) {
            if (content_form(thread_.nodes[node].message.content) == form) {
                found.push_back(node);
            }
        }
        return found;
    }

    void collect_new_users() {
        out_.new_users.clear();
        view_map<content_form> seen;
        for (std::size_t i = out_.first_unknown(); i < input_.messages.size(); ++i) {
            const message& given = input_.messages[i];
            if (!is_user(given)) {
                continue;
            }
            content_form form(given.content);
            const auto [same_id, is_first] = seen.try_emplace(given.id, form);
            if (is_first || same_id->second != form) {
                out_.new_users.push_back(i);
            } else {
                out_.repeats = true;
            }
        }
    }

    // Stored user messages that new ones edit: same id, other content. Ascending.
    [[nodiscard]] std::vector<node_index> edited_nodes() const {
        std::vector<node_index> edited;
        for (const std::size_t i : out_.new_users) {
            const std::vector<node_index>& same_id = index_.users_of(input_.messages[i].id);
            edited.insert(edited.end(), same_id.begin(), same_id.end());
        }
        std::ranges::sort(edited);
        return edited;
    }

    [[nodiscard]] std::vector<node_index> nodes_waiting_for_answers() const {
        std::vector<node_index> waiting;
        for (const call_record& call : thread_.calls) {
            const bool is_answered =
                call.status == call_status::pending
                    ? calls_.answers.contains(call.id)
                    : call.status == call_status::asked && approvals_.contains(call.id);
            if (is_answered && call.made_in < thread_.nodes.size()) {
                waiting.push_back(call.made_in);
            }
        }
        return waiting;
    }

    // Says for each message whether it is, or comes after, one of `marked`. Parents have lower
    // numbers.
    [[nodiscard]] std::vector<bool> at_or_after(const std::vector<node_index>& marked) const {
        std::vector<bool> reached(thread_.nodes.size());
        for (const node_index node : marked) {
            reached[node] = true;
        }
        for (node_index node = 0; node < reached.size(); ++node) {
            const node_index parent = thread_.nodes[node].parent;
            if (parent != no_node && reached[parent]) {
                reached[node] = true;
            }
        }
        return reached;
    }

    // The branch that holds the last known user message. Of several, the one that waits for an
    // answer of this input, or that holds a message it edits (a tab that shows an older branch);
    // then the head, then the most recent one.
    void choose_branch() {
        count_work(thread_.nodes.size() + thread_.branches.size());
        const std::vector<bool> known = at_or_after(anchors_);
        const std::vector<bool> waiting = at_or_after(nodes_waiting_for_answers());
        const std::vector<bool> edited = at_or_after(edited_nodes());
        const auto rank = [&](std::uint32_t index) {
            const branch& candidate = thread_.branches[index];
            const node_index tip = candidate.tip;
            return std::tuple(
                !out_.last_known || (tip != no_node && known[tip]), tip != no_node && waiting[tip],
                tip != no_node && edited[tip], index == thread_.head, candidate.updated_at, index
            );
        };
        for (std::uint32_t i = 0; i < thread_.branches.size(); ++i) {
            if (i == 0 || rank(i) > rank(out_.branch)) {
                out_.branch = i;
            }
        }
        out_.tip = thread_.branches.at(out_.branch).tip;
        out_.path = thread_.path(out_.tip);
        for (std::size_t at = 0; at < out_.path.size(); ++at) {
            if (std::ranges::binary_search(anchors_, out_.path[at])) {
                anchor_ = at;
            }
        }
        if (out_.last_known && !anchor_) {
            throw std::logic_error("every message of a thread must be on a branch");
        }
    }

    // A reloaded page, or a client that makes new ids, sends messages that the thread has under
    // other ids: those at the end of the branch are recognized by content.
    void know_by_content() {
        std::vector<const message*> given;
        for (const std::size_t i : out_.new_users) {
            if (!index_.users_of(input_.messages[i].id).empty()) {
                return; // Its id is known: an edit.
            }
            given.push_back(&input_.messages[i]);
        }
        std::vector<node_index> users;
        std::vector<std::size_t> positions;
        for (std::size_t at = 0; at < out_.path.size(); ++at) {
            if (is_user(thread_.nodes[out_.path[at]].message)) {
                users.push_back(out_.path[at]);
                positions.push_back(at);
            }
        }
        const content_match match = match_by_content(thread_, users, given);
        if (match.known == 0 || is_said_again(match, positions)) {
            return;
        }
        anchor_ = positions[match.last];
        out_.last_known = out_.new_users[match.known - 1];
        collect_new_users();
    }

    // A single message with the same content as the last one, which already has its reply, is meant
    // as a new one ("go on"): treated as a retry, it would drop the reply.
    [[nodiscard]] bool
    is_said_again(const content_match& match, const std::vector<std::size_t>& positions) const {
        if (out_.new_users.size() != 1 || out_.new_users.front() + 1 != input_.messages.size()) {
            return false;
        }
        return match.last + 1 != positions.size() ||
               positions[match.last] + 1 != end_without_notes(thread_, out_.path);
    }

    void choose_base() {
        out_.base = out_.tip;
        if (!out_.new_users.empty()) {
            out_.base = base_of_new_message();
        } else if (out_.last_known && ends_in_known_user() && !is_about_approvals()) {
            out_.regenerate = true;
            // Where only notes follow, a failed run is tried again: no branch of its own.
            const bool is_last = *anchor_ + 1 == end_without_notes(thread_, out_.path);
            out_.base = is_last ? out_.tip : out_.path[*anchor_];
        }
    }

    // A request without new messages does not leave the branch then: a client that has forgotten
    // the approval would abandon it unintentionally, and one that answers it (again) does not ask
    // for another turn.
    [[nodiscard]] bool is_about_approvals() const {
        return std::ranges::any_of(thread_.calls, [this](const call_record& call) {
            const bool is_meant = call.status == call_status::asked || approvals_.contains(call.id);
            return is_meant && std::ranges::binary_search(out_.path, call.made_in);
        });
    }

    [[nodiscard]] bool ends_in_known_user() const {
        return std::all_of(
            input_.messages.begin() + static_cast<std::ptrdiff_t>(out_.first_unknown()),
            input_.messages.end(), is_system
        );
    }

    [[nodiscard]] node_index base_of_new_message() const {
        const std::vector<node_index> edited = edited_nodes();
        for (const node_index node : out_.path) {
            if (std::ranges::binary_search(edited, node)) {
                return thread_.nodes[node].parent;
            }
        }
        if (anchor_) {
            return end_of_turn(*anchor_);
        }
        switch (policy_.client_history) {
        case client_history::delta:
            return out_.tip;
        case client_history::full:
            return base_without_known_user();
        case client_history::automatic:
            break;
        }
        if (out_.new_users.size() > 1) {
            return base_without_known_user();
        }
        return after_known_answer().value_or(out_.tip);
    }

    // The last message of the turn that the message at `position` of the branch belongs to.
    [[nodiscard]] node_index end_of_turn(std::size_t position) const {
        std::size_t last = position;
        while (last + 1 < out_.path.size() &&
               !begins_user_turn(thread_.nodes[out_.path[last + 1]].message)) {
            ++last;
        }
        return out_.path[last];
    }

    // A client that keeps the whole history and sends no known user message has edited the first
    // one; messages before it (a greeting) stay.
    [[nodiscard]] node_index base_without_known_user() const {
        const std::size_t first = first_user();
        if (first == out_.path.size()) {
            return out_.tip;
        }
        return after_known_answer().value_or(thread_.nodes[out_.path[first]].parent);
    }

    // An answer of a later turn before the new message: the client has cut off the start of the
    // history and continues after that turn.
    [[nodiscard]] std::optional<node_index> after_known_answer() const {
        if (out_.new_users.front() == 0) {
            return std::nullopt; // Nothing comes before it: the branch need not be indexed.
        }
        const std::size_t first = first_user();
        const branch_index positions(thread_, out_.path);
        for (std::size_t i = out_.new_users.front(); i > 0; --i) {
            count_work();
            const std::optional<std::size_t> position = positions.find(input_.messages[i - 1]);
            if (position && *position > first) {
                return end_of_turn(*position);
            }
        }
        return std::nullopt;
    }

    // Position on the branch.
    [[nodiscard]] std::size_t first_user() const {
        const auto found = std::ranges::find_if(out_.path, [this](node_index node) {
            return is_user(thread_.nodes[node].message);
        });
        return static_cast<std::size_t>(found - out_.path.begin());
    }

    const thread_record& thread_;
    const history_input& input_;
    const history_policy& policy_;
    const input_calls& calls_;
    const thread_index& index_;
    view_set approvals_; // The calls that the input's answers to approvals name.
    history_place out_;
    std::vector<node_index> anchors_; // The stored messages that equal the last known user message.
    std::optional<std::size_t> anchor_; // Its position on the path.
};

} // namespace

history_place find_place(
    const thread_record& thread, const history_input& input, const history_policy& policy,
    const input_calls& given, const thread_index& index
) {
    return place_finder(thread, input, policy, given, index).run();
}

} // namespace agui::session
