#include "session/history_plan.hpp"

#include "session/history_import.hpp"
#include "session/history_rules.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace agui::session {

namespace {

// What is looked up in the messages of a thread, found once: histories have thousands of messages.
struct thread_index {
    explicit thread_index(const thread_record& thread) {
        for (node_index node = 0; node < thread.nodes.size(); ++node) {
            const message& stored = thread.nodes[node].message;
            ids.insert(stored.id);
            if (is_user(stored)) {
                users[stored.id].push_back(node);
            } else if (stored.role == role::tool) {
                results.try_emplace(stored.tool_call_id, &stored);
            }
        }
        for (const call_record& call : thread.calls) {
            calls.try_emplace(call.id, &call);
        }
    }

    [[nodiscard]] const call_record* find_call(std::string_view id) const {
        const auto found = calls.find(id);
        return found == calls.end() ? nullptr : found->second;
    }

    std::unordered_map<std::string_view, std::vector<node_index>> users; // By id, ascending.
    std::unordered_map<std::string_view, const message*> results;        // By call id.
    std::unordered_map<std::string_view, const call_record*> calls;
    std::unordered_set<std::string_view> ids;
};

// Positions of a branch by message id and by call id: where a message of the input is, whose shape the
// client may have changed.
class branch_index {
public:
    branch_index(const thread_record& thread, const std::vector<node_index>& path) {
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

    /// The last position on the branch of what `given` holds.
    [[nodiscard]] std::optional<std::size_t> find(const message& given) const {
        std::optional<std::size_t> last = look_up(by_id_, given.id);
        if (given.role == role::tool) {
            // An answer that was not taken (its call is dead) still shows that the call was seen.
            last = std::max(last, look_up(results_, given.tool_call_id));
            last = std::max(last, look_up(calls_, given.tool_call_id));
        }
        for (const tool_call& call : given.tool_calls) {
            last = std::max(last, look_up(calls_, call.id));
        }
        return last;
    }

private:
    using positions = std::unordered_map<std::string_view, std::size_t>;

    static std::optional<std::size_t> look_up(const positions& where, std::string_view id) {
        const auto found = where.find(id);
        return found == where.end() ? std::nullopt : std::optional(found->second);
    }

    positions by_id_;
    positions results_;
    positions calls_;
};

// A known thread: user messages decide where the run goes on, answers are found by call id.
class continuation {
public:
    continuation(
        const thread_record& thread, const history_input& input, const history_policy& policy
    )
        : thread_(thread), input_(input), policy_(policy), calls_(input.messages), index_(thread),
          out_(thread, plan_) {}

    result<history_plan> run() {
        read_user_messages();
        choose_branch();
        choose_base();
        if (auto failed = read_answers()) {
            return std::move(*failed);
        }
        if (auto failed = settle_open_calls()) {
            return std::move(*failed);
        }
        append_all();
        store_branch();
        decide_next();
        return std::move(plan_);
    }

private:
    // The last user message that the thread holds, and those after it, which are new. What stands in
    // front of it is not looked at: clients drop the attachments of old messages, which is no edit.
    void read_user_messages() {
        for (std::size_t i = input_.messages.size(); i > 0 && !last_known_; --i) {
            const message& given = input_.messages[i - 1];
            if (is_user(given) && !nodes_of(given).empty()) {
                last_known_ = i - 1;
            }
        }
        std::unordered_map<std::string_view, const message*> seen;
        for (std::size_t i = first_unknown(); i < input_.messages.size(); ++i) {
            const message& given = input_.messages[i];
            if (!is_user(given)) {
                continue;
            }
            const auto [same_id, is_first] = seen.try_emplace(given.id, &given);
            if (is_first || !same_content(same_id->second->content, given.content)) {
                new_users_.push_back(i);
            } else {
                out_.warn("a repeated message was dropped");
            }
        }
        const bool had_assistant = std::ranges::any_of(input_.messages, [](const message& given) {
            return given.role == role::assistant;
        });
        had_history_ =
            had_assistant || (last_known_ && *last_known_ + 1 < input_.messages.size());
    }

    // Index behind the last known user message.
    [[nodiscard]] std::size_t first_unknown() const noexcept {
        return last_known_ ? *last_known_ + 1 : 0;
    }

    // Stored user messages with this id and content.
    [[nodiscard]] std::vector<node_index> nodes_of(const message& given) const {
        std::vector<node_index> found;
        if (const auto same_id = index_.users.find(given.id); same_id != index_.users.end()) {
            for (const node_index node : same_id->second) {
                if (same_content(thread_.nodes[node].message.content, given.content)) {
                    found.push_back(node);
                }
            }
        }
        return found;
    }

    // Stored user messages that the first new one edits: same id, other content.
    [[nodiscard]] std::vector<node_index> edited_nodes() const {
        if (new_users_.empty()) {
            return {};
        }
        const auto same_id = index_.users.find(input_.messages[new_users_.front()].id);
        return same_id == index_.users.end() ? std::vector<node_index>() : same_id->second;
    }

    [[nodiscard]] std::vector<node_index> nodes_waiting_for_answers() const {
        std::vector<node_index> waiting;
        for (const call_record& call : thread_.calls) {
            if (call.status == call_status::pending && call.made_in < thread_.nodes.size() &&
                calls_.answers.contains(call.id)) {
                waiting.push_back(call.made_in);
            }
        }
        return waiting;
    }

    // For each message whether it is, or comes behind, one of `marked`. Parents have lower numbers.
    [[nodiscard]] std::vector<bool> at_or_behind(const std::vector<node_index>& marked) const {
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

    // The branch that holds the last known user message. Of several, the one that waits for an answer
    // of this input, or that holds the message it edits (a tab that shows an older branch); then the
    // head, then the most recent one.
    void choose_branch() {
        const std::vector<node_index> anchors =
            last_known_ ? nodes_of(input_.messages[*last_known_]) : std::vector<node_index>();
        const std::vector<bool> known = at_or_behind(anchors);
        const std::vector<bool> waiting = at_or_behind(nodes_waiting_for_answers());
        const std::vector<bool> edited = at_or_behind(edited_nodes());
        const auto rank = [&](std::uint32_t index) {
            const branch& candidate = thread_.branches[index];
            const node_index tip = candidate.tip;
            return std::tuple(
                !last_known_ || (tip != no_node && known[tip]), tip != no_node && waiting[tip],
                tip != no_node && edited[tip], index == thread_.head, candidate.updated_at, index
            );
        };
        for (std::uint32_t i = 0; i < thread_.branches.size(); ++i) {
            if (i == 0 || rank(i) > rank(branch_)) {
                branch_ = i;
            }
        }
        path_ = thread_.path(thread_.branches.at(branch_).tip);
        tip_ = thread_.branches[branch_].tip;
        for (const node_index node : path_) {
            if (std::ranges::binary_search(anchors, node)) {
                anchor_ = node;
            }
        }
        if (last_known_ && anchor_ == no_node) {
            throw std::logic_error("every message of a thread must be on a branch");
        }
    }

    void choose_base() {
        base_ = tip_;
        if (!new_users_.empty()) {
            base_ = base_of_new_message();
        } else if (last_known_ && ends_in_known_user()) {
            regenerate_ = true;
            base_ = anchor_;
        }
        out_.start_at(base_);
        on_base_path_.assign(thread_.nodes.size(), false);
        for (const node_index node : thread_.path(base_)) {
            on_base_path_[node] = true;
        }
    }

    [[nodiscard]] bool ends_in_known_user() const {
        return std::all_of(
            input_.messages.begin() + static_cast<std::ptrdiff_t>(first_unknown()),
            input_.messages.end(), is_system
        );
    }

    [[nodiscard]] node_index base_of_new_message() const {
        const std::vector<node_index> edited = edited_nodes();
        for (auto node = path_.rbegin(); node != path_.rend(); ++node) {
            if (std::ranges::binary_search(edited, *node)) {
                return thread_.nodes[*node].parent;
            }
        }
        if (last_known_) {
            const auto anchor = std::ranges::find(path_, anchor_);
            return end_of_turn(static_cast<std::size_t>(anchor - path_.begin()));
        }
        return keeps_whole_history() ? base_without_known_user() : tip_;
    }

    // Last message of the turn that the message at `position` of the branch belongs to.
    [[nodiscard]] node_index end_of_turn(std::size_t position) const {
        std::size_t last = position;
        while (last + 1 < path_.size() && !is_user(thread_.nodes[path_[last + 1]].message)) {
            ++last;
        }
        return path_[last];
    }

    [[nodiscard]] bool keeps_whole_history() const noexcept {
        switch (policy_.client_history) {
        case client_history::full:
            return true;
        case client_history::delta:
            return false;
        case client_history::automatic:
            return thread_.last_request_had_history;
        }
        return false;
    }

    // A client that keeps the whole history and sends no known user message has edited the first one;
    // what stands before that (a greeting) stays. But if an answer of a later turn stands in front of
    // the new message, it was the beginning of the history that the client has cut off.
    [[nodiscard]] node_index base_without_known_user() const {
        const auto first_user = std::ranges::find_if(path_, [this](node_index node) {
            return is_user(thread_.nodes[node].message);
        });
        if (first_user == path_.end()) {
            return tip_;
        }
        const branch_index positions(thread_, path_);
        for (std::size_t i = new_users_.front(); i > 0; --i) {
            const std::optional<std::size_t> position = positions.find(input_.messages[i - 1]);
            if (position && *position > static_cast<std::size_t>(first_user - path_.begin())) {
                return end_of_turn(*position);
            }
        }
        return thread_.nodes[*first_user].parent;
    }

    [[nodiscard]] bool is_on_base_path(node_index node) const {
        return node < on_base_path_.size() && on_base_path_[node];
    }

    // Sorts the tool messages of the input: answers that take effect, results of the client's own calls,
    // and what is left out.
    std::optional<failure> read_answers() {
        for (std::size_t i = 0; i < input_.messages.size(); ++i) {
            const message& given = input_.messages[i];
            if (given.role != role::tool) {
                continue;
            }
            const message* first = calls_.answers.at(given.tool_call_id);
            if (first != &given) {
                warn_if_different(*first, given);
                continue;
            }
            std::optional<failure> failed;
            const call_record* call = index_.find_call(given.tool_call_id);
            if (call != nullptr) {
                failed = read_answer(i, *call);
            } else if (calls_.made.contains(given.tool_call_id)) {
                failed = read_own_result(i);
            } else if (i >= calls_.trailing && given.subagent_run_id.empty()) {
                failed = unknown_call(i);
            } else {
                out_.warn("a tool result without its call was dropped");
            }
            if (failed) {
                return failed;
            }
        }
        return std::nullopt;
    }

    void warn_if_different(const message& first, const message& other) {
        if (!same_content(first.content, other.content) || first.error != other.error) {
            out_.warn("another answer to a call that is answered already was ignored");
        }
    }

    std::optional<failure> read_answer(std::size_t index, const call_record& call) {
        const message& given = input_.messages[index];
        if (call.status == call_status::answered) {
            const auto stored = index_.results.find(call.id);
            if (stored != index_.results.end()) {
                warn_if_different(*stored->second, given);
            }
        }
        if (call.status != call_status::pending || !is_on_base_path(call.made_in)) {
            return std::nullopt;
        }
        if (given.name && *given.name != call.name) {
            return other_tool_named(index);
        }
        answers_.push_back(&given);
        answered_.insert(call.id);
        return std::nullopt;
    }

    // A call and its result that the client made itself. In front of the last known user message an
    // earlier request has brought them, and has decided.
    std::optional<failure> read_own_result(std::size_t index) {
        const message& given = input_.messages[index];
        const auto& [call, made_by] = calls_.made.at(given.tool_call_id);
        if (index < first_unknown() || !made_by->subagent_run_id.empty()) {
            return std::nullopt;
        }
        if (input_.is_server_tool(call->name)) {
            out_.warn("a client-made call of a server tool was dropped");
        } else if (!is_offered(thread_, input_, call->name)) {
            out_.warn("a client-made call of a tool that is not offered was dropped");
        } else if (given.name && *given.name != call->name) {
            return other_tool_named(index);
        } else {
            own_calls_.insert(call->id);
            own_pair_at_end_ = own_pair_at_end_ || index >= calls_.trailing;
        }
        return std::nullopt;
    }

    std::optional<failure> settle_open_calls() {
        std::vector<const call_record*> open;
        for (const call_record& call : thread_.calls) {
            if (call.status == call_status::pending && !answered_.contains(call.id) &&
                is_on_base_path(call.made_in)) {
                open.push_back(&call);
            }
        }
        if (open.empty()) {
            return std::nullopt;
        }
        open_call_case situation;
        situation.goes_on = regenerate_ || !new_users_.empty();
        situation.answered = !answers_.empty();
        situation.own_pair_at_end = own_pair_at_end_;
        situation.whole_history = had_history_;
        const auto verdict = judge_open_calls(open, situation, thread_, input_, policy_);
        if (!verdict) {
            return verdict.error();
        }
        waiting_ = *verdict == open_call_verdict::wait;
        if (!waiting_) {
            for (const call_record* call : open) {
                out_.set_status(*call, call_status::abandoned);
            }
        }
        return std::nullopt;
    }

    // Answers stand next to their call, so they come first: an edit of what came with them keeps them.
    // The rest keeps the order of the input.
    void append_all() {
        for (const message* answer : answers_) {
            out_.set_status(*index_.find_call(answer->tool_call_id), call_status::answered);
            plan_.answers.push_back({answer->tool_call_id, answer->id});
            out_.append(*answer);
        }
        auto next_user = new_users_.begin();
        for (std::size_t i = 0; i < input_.messages.size(); ++i) {
            const message& given = input_.messages[i];
            if (next_user != new_users_.end() && *next_user == i) {
                ++next_user;
                plan_.new_user_messages.push_back(given.id);
                out_.append(given);
            } else if (given.role == role::assistant) {
                append_own_calls(given);
            } else if (is_system(given)) {
                append_system(given);
            }
        }
    }

    void append_own_calls(const message& given) {
        message own;
        own.role = role::assistant;
        bool holds_known_call = false;
        for (const tool_call& call : given.tool_calls) {
            holds_known_call = holds_known_call || index_.find_call(call.id) != nullptr;
            if (own_calls_.contains(call.id) && calls_.made.at(call.id).call == &call) {
                own.tool_calls.push_back(call);
            }
        }
        if (own.tool_calls.empty()) {
            return;
        }
        // A re-shaped message holds calls and text of the server too: only the client's calls are new.
        if (holds_known_call || index_.ids.contains(given.id)) {
            own.id = given.id + ":" + own.tool_calls.front().id;
        } else {
            own.id = given.id;
            own.content = given.content;
            own.name = given.name;
        }
        const std::vector<tool_call> calls = own.tool_calls;
        for (const tool_call& call : calls) {
            call_record record;
            record.id = call.id;
            record.name = call.name;
            record.owner = call_owner::external;
            record.status = call_status::answered;
            record.made_in = out_.next_node();
            out_.set_call(std::move(record));
        }
        out_.append(std::move(own));
        for (const tool_call& call : calls) {
            const message& answer = *calls_.answers.at(call.id);
            plan_.answers.push_back({call.id, answer.id});
            out_.append(answer);
        }
    }

    // Clients send their system text with every request, some under a new id each time: it is taken in
    // where the branch does not hold it yet.
    void append_system(const message& given) {
        if (!policy_.accept_client_system) {
            out_.warn("a system message of the client was dropped");
            return;
        }
        const auto holds = [&](const message& stored) {
            return stored.role == given.role && same_content(stored.content, given.content);
        };
        const bool stored = std::ranges::any_of(path_, [&](node_index node) {
            return is_on_base_path(node) && holds(thread_.nodes[node].message);
        });
        const bool added =
            std::ranges::any_of(plan_.change.messages, [&](const stored_message& node) {
                return holds(node.message);
            });
        if (!stored && !added) {
            out_.append(given);
        }
    }

    void store_branch() {
        std::uint32_t index = branch_;
        if (base_ != tip_) {
            index = static_cast<std::uint32_t>(thread_.branches.size());
        }
        if (base_ != tip_ || out_.tip() != tip_) {
            plan_.change.branches.push_back({index, branch{out_.tip(), 0}});
        }
        if (index != thread_.head) {
            plan_.change.head = index;
        }
        // Only a new user message shows what the client sends: a retry of a delta looks like history
        // when a tool answer came with it.
        if (!new_users_.empty()) {
            plan_.change.last_request_had_history = had_history_;
        }
    }

    void decide_next() {
        if (!new_users_.empty() || regenerate_) {
            plan_.next = next_step::call_model;
            plan_.new_user_turn = true;
        } else if (waiting_) {
            plan_.next = answers_.empty() && own_calls_.empty() ? next_step::nothing
                                                                : next_step::wait_for_answers;
        } else if (!answers_.empty() || own_pair_at_end_) {
            plan_.next = next_step::call_model;
        } else {
            const message* last = last_spoken();
            const bool user = last != nullptr && last->role == role::user;
            const bool result = last != nullptr && last->role == role::tool;
            // The model call that the branch's end asks for was lost to a failure.
            plan_.next = user || result ? next_step::call_model : next_step::nothing;
            plan_.new_user_turn = user;
        }
        plan_.snapshot = plan_.next == next_step::nothing && misses_messages();
    }

    // The end of the branch as the model sees it.
    [[nodiscard]] const message* last_spoken() const {
        for (auto node = path_.rbegin(); node != path_.rend(); ++node) {
            const message& stored = thread_.nodes[*node].message;
            const bool spoken = stored.role == role::user || stored.role == role::assistant ||
                                stored.role == role::tool;
            if (spoken && stored.subagent_run_id.empty()) {
                return &stored;
            }
        }
        return nullptr;
    }

    // True if the branch goes on behind the last message of the input that it holds.
    [[nodiscard]] bool misses_messages() const {
        const branch_index positions(thread_, path_);
        for (auto given = input_.messages.rbegin(); given != input_.messages.rend(); ++given) {
            if (const std::optional<std::size_t> position = positions.find(*given)) {
                return *position + 1 != path_.size();
            }
        }
        return !path_.empty();
    }

    const thread_record& thread_;
    const history_input& input_;
    const history_policy& policy_;
    input_calls calls_;
    thread_index index_;
    history_plan plan_;
    plan_writer out_;

    std::optional<std::size_t> last_known_; // Index into the input.
    std::vector<std::size_t> new_users_;    // Indices into the input, new and edited, ascending.
    bool had_history_ = false;
    bool regenerate_ = false;
    bool waiting_ = false;
    bool own_pair_at_end_ = false;

    std::uint32_t branch_ = 0;
    std::vector<node_index> path_; // Of the chosen branch.
    node_index tip_ = no_node;
    node_index anchor_ = no_node;  // The last known user message on the path.
    node_index base_ = no_node;    // What is new comes behind it.
    std::vector<bool> on_base_path_;

    std::vector<const message*> answers_;
    std::unordered_set<std::string_view> answered_;
    std::unordered_set<std::string_view> own_calls_; // Made and answered by the client.
};

} // namespace

result<history_plan> plan_history(
    const thread_record& thread, const history_input& input, const history_policy& policy
) {
    if (policy.mode == history_mode::client || thread.nodes.empty()) {
        return plan_import(thread, input, policy);
    }
    return continuation(thread, input, policy).run();
}

} // namespace agui::session
