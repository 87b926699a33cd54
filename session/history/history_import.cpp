#include "session/history/history_import.hpp"

#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"
#include "session/conversation/content_form.hpp"
#include "session/history/history_rules.hpp"
#include "session/history/message_tree.hpp"
#include "session/history/missing_result.hpp"
#include "session/history/subagent.hpp"
#include "session/history/turn_failure.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace agui::session {

namespace {

// No client can set the digest by which it is known.
bool is_of_approved_call(const message& value) {
    return value.role == role::tool && !value.approval_answer.empty() && !is_missing_result(value);
}

class importer {
public:
    importer(const thread_record& thread, const history_input& input, const history_policy& policy)
        : thread_(thread),
          input_(input),
          policy_(policy),
          calls_(input.messages),
          out_(thread, plan_) {
        for (const call_record& call : thread.calls) {
            records_.try_emplace(call.id, &call);
        }
        for (const stored_message& stored : thread.nodes) {
            if (!call_of_subagent(stored.message.subagent_run_id).empty()) {
                inner_.try_emplace(stored.message.id, stored.message.subagent_run_id);
            }
            if (is_only_shown(stored.message)) {
                shown_.insert(stored.message.id);
            }
            if (is_of_approved_call(stored.message)) {
                executed_.try_emplace(stored.message.tool_call_id, &stored.message);
            }
        }
        for (std::size_t i = 0; i < input.messages.size(); ++i) {
            const message& given = input.messages[i];
            const bool speaks = given.subagent_run_id.empty() &&
                                (given.role == role::user || given.role == role::assistant);
            if (speaks) {
                last_speaker_ = i;
            }
            if (is_user(given)) {
                last_user_ = i;
            }
            if (is_missing_result(given)) {
                left_.insert(given.tool_call_id);
            }
        }
    }

    result<history_plan> run() {
        for (std::size_t i = 0; i < input_.messages.size(); ++i) {
            if (auto failed = read(i)) {
                return std::move(*failed);
            }
        }
        judged_ = judge_approvals(
            thread_, input_.approvals,
            [this](const call_record& call) { return calls_.made.contains(call.id); },
            input_.checks, policy_.approval_life, input_.now
        );
        if (!judged_.refusal.empty()) {
            history_plan refused;
            refused.next = next_step::refuse;
            refused.refusal = judged_.refusal;
            return refused;
        }
        if (judged_.unknown > 0) {
            out_.warn("a resume entry names no interrupt of this conversation");
        }
        if (auto failed = settle_open_calls()) {
            return std::move(*failed);
        }
        find_stored();
        decide_next();
        plan_.snapshot = plan_.next == next_step::wait_for_answers && answers_inner_;
        store();
        return std::move(plan_);
    }

private:
    std::optional<failure> read(std::size_t index) {
        const message& given = input_.messages[index];
        if (is_missing_result(given) || is_failure_note(given) || is_input_note(given)) {
            return std::nullopt; // This server made it, and makes it again when needed.
        }
        if (given.role == role::tool) {
            return read_answer(index);
        }
        if (given.role == role::assistant) {
            read_assistant(index);
        } else if (is_system(given) && !policy_.accept_client_system) {
            out_.warn("a system message of the client was dropped");
        } else if (is_repeated(given)) {
            out_.warn("a repeated message was dropped");
        } else {
            keep(given);
        }
        return std::nullopt;
    }

    // Clients of older versions do not know whose message it is, and no client says whose call it
    // answers.
    void keep(message given) {
        const call_record* const answered =
            given.role == role::tool ? record_of(given.tool_call_id) : nullptr;
        if (answered != nullptr && answered->made_in < thread_.nodes.size()) {
            given.subagent_run_id = thread_.nodes[answered->made_in].message.subagent_run_id;
        } else if (const auto stored = inner_.find(given.id); stored != inner_.end()) {
            given.subagent_run_id = stored->second;
        }
        kept_.push_back(std::move(given));
    }

    std::optional<failure> read_answer(std::size_t index) {
        const message& given = input_.messages[index];
        const auto made = calls_.made.find(given.tool_call_id);
        if (made == calls_.made.end()) {
            if (index >= calls_.trailing) {
                return unknown_call(index);
            }
            out_.warn("a tool result without its call was dropped");
            return std::nullopt;
        }
        const tool_call& call = *made->second.call;
        if (!trusts(call.name) || calls_.answers.at(given.tool_call_id) != &given) {
            return std::nullopt;
        }
        const call_record* stored = record_of(call.id);
        if (is_dead(stored)) {
            return std::nullopt;
        }
        const bool was_pending = stored != nullptr && stored->status == call_status::pending;
        // Anywhere else the answer has already taken effect, and a refusal would block the thread
        // for good.
        if ((was_pending || index >= calls_.trailing) && given.name && *given.name != call.name) {
            return other_tool_named(index);
        }
        answers_pending_ = answers_pending_ || was_pending;
        keep(given);
        answers_inner_ = answers_inner_ || (was_pending && !kept_.back().subagent_run_id.empty());
        return std::nullopt;
    }

    void read_assistant(std::size_t index) {
        const message& given = input_.messages[index];
        message assistant = given;
        assistant.tool_calls.clear();
        for (const tool_call& call : given.tool_calls) {
            if (calls_.made.at(call.id).call != &call) {
                out_.warn("a repeated tool call was dropped");
            } else if (!trusts(call.name)) {
                out_.warn("a call of a server tool in the client's history was dropped");
            } else if (calls_.answers.contains(call.id) || keeps_unanswered(call, index)) {
                assistant.tool_calls.push_back(as_asked(call));
            } else {
                out_.warn("an unanswered call at the end of the client's history was dropped");
            }
        }
        if (!assistant.tool_calls.empty() || !is_empty(assistant.content)) {
            const std::vector<tool_call> calls = assistant.tool_calls;
            keep(std::move(assistant));
            add_results(calls);
        }
    }

    // A client whose tab, or whose branch, is not the one on which the person approved the call
    // has no result of it. The action must not look undone to the model.
    void add_results(const std::vector<tool_call>& calls) {
        for (const tool_call& call : calls) {
            const auto result = executed_.find(call.id);
            if (result != executed_.end() && !calls_.answers.contains(call.id)) {
                kept_.push_back(*result->second);
                kept_.back().prompt = nullptr;
            }
        }
    }

    // A call that waits for its approval stays as the person was asked about it.
    [[nodiscard]] const tool_call& as_asked(const tool_call& given) const {
        const call_record* const stored = record_of(given.id);
        if (stored == nullptr || stored->status != call_status::asked ||
            stored->made_in >= thread_.nodes.size()) {
            return given;
        }
        const std::vector<tool_call>& made = thread_.nodes[stored->made_in].message.tool_calls;
        const auto found = std::ranges::find(made, given.id, &tool_call::id);
        return found == made.end() ? given : *found;
    }

    // Unanswered calls at the end stay only if this server knows them, or has told the client that
    // they cannot be answered; elsewhere they are answered with an error.
    bool keeps_unanswered(const tool_call& call, std::size_t index) {
        const call_record* stored = record_of(call.id);
        if (stored != nullptr && stored->status == call_status::pending) {
            (index < last_user_ ? left_behind_ : still_open_).push_back(stored);
            return true;
        }
        return index < last_speaker_ || stored != nullptr || left_.contains(call.id);
    }

    bool is_repeated(const message& given) {
        const auto [known, is_new] = seen_.try_emplace(given.id, &given);
        return !is_new && known->second->role == given.role &&
               forms_.of(*known->second) == forms_.of(given);
    }

    // Results of server tools cannot be told from forged ones; but where the client holds the only
    // copy of the conversation, there is nothing to check against.
    [[nodiscard]] bool trusts(std::string_view tool) const {
        return policy_.mode == history_mode::client || !input_.is_server_tool(tool);
    }

    // True if no message of a client answers the call.
    static bool is_dead(const call_record* stored) noexcept {
        return stored != nullptr && stored->status != call_status::open &&
               stored->status != call_status::pending && stored->status != call_status::answered &&
               stored->status != call_status::abandoned;
    }

    [[nodiscard]] const call_record* record_of(std::string_view id) const {
        const auto found = records_.find(id);
        return found == records_.end() ? nullptr : found->second;
    }

    std::optional<failure> settle_open_calls() {
        open_call_case situation;
        situation.whole_history = true;
        situation.answered = answers_pending_ || !judged_.answers.empty();
        if (!still_open_.empty()) {
            const auto verdict = judge_open_calls(still_open_, situation, thread_, input_, policy_);
            if (!verdict) {
                return verdict.error();
            }
            waiting_ = *verdict == open_call_verdict::wait;
        }
        situation.goes_on = true;
        if (!left_behind_.empty()) {
            const auto verdict =
                judge_open_calls(left_behind_, situation, thread_, input_, policy_);
            if (!verdict) {
                return verdict.error();
            }
        }
        return std::nullopt;
    }

    // In client mode most of the history is stored already. Only differing messages are added, so
    // that the cost of a conversation is linear in its length, not quadratic. Clients order
    // messages that are only shown in their own way: these decide nothing if the thread has them.
    void find_stored() {
        const message_tree tree(thread_);
        node_index base = no_node;
        is_stored_.assign(kept_.size(), false);
        for (std::size_t i = 0; i < kept_.size(); ++i) {
            if (is_only_shown(kept_[i]) && shown_.contains(kept_[i].id)) {
                continue;
            }
            const node_index next = tree.find_next(base, kept_[i]);
            if (next == no_node) {
                break;
            }
            base = next;
            is_stored_[i] = true;
        }
        choose_branch(base);
        view_set on_branch;
        for (const node_index node : thread_.path(out_.tip())) {
            if (is_only_shown(thread_.nodes[node].message)) {
                on_branch.insert(thread_.nodes[node].message.id);
            }
        }
        for (std::size_t i = 0; i < kept_.size(); ++i) {
            if (is_only_shown(kept_[i]) && on_branch.contains(kept_[i].id)) {
                is_stored_[i] = true;
            }
        }
    }

    // Continues the branch that ends at `base`, or starts a new one.
    void choose_branch(node_index base) {
        out_.start_at(base);
        branch_ = static_cast<std::uint32_t>(thread_.branches.size());
        const std::vector<bool> ends = tails_of(base);
        for (std::uint32_t i = 0; i < thread_.branches.size(); ++i) {
            const node_index tip = thread_.branches[i].tip;
            if (tip == no_node ? base == no_node : ends[tip]) {
                out_.start_at(tip);
                branch_ = i;
                if (i == thread_.head) {
                    return;
                }
            }
        }
    }

    // Says for each message whether it is `base`, or follows it with only messages in between that
    // the client need not know.
    [[nodiscard]] std::vector<bool> tails_of(node_index base) const {
        count_work(thread_.nodes.size());
        std::vector<bool> ends(thread_.nodes.size());
        for (node_index node = 0; node < ends.size(); ++node) {
            const stored_message& stored = thread_.nodes[node];
            const bool after =
                stored.parent == no_node ? base == no_node : static_cast<bool>(ends[stored.parent]);
            ends[node] = node == base || (is_passed_over(stored.message) && after);
        }
        return ends;
    }

    void decide_next() {
        const auto last = std::find_if(kept_.rbegin(), kept_.rend(), [](const message& given) {
            return !is_only_shown(given) && !is_system(given) && !is_of_approved_call(given);
        });
        plan_.next = next_step::nothing;
        if (judged_.any_open) {
            plan_.next = next_step::wait_for_approval;
            return;
        }
        if (last == kept_.rend()) {
            return;
        }
        if (answers_inner_ && judged_.answers.empty() && !is_user(*last)) {
            plan_.next = waiting_ ? next_step::wait_for_answers : next_step::call_model;
        } else if (!judged_.answers.empty() && waiting_) {
            plan_.next = next_step::wait_for_answers;
        } else if (!judged_.answers.empty()) {
            plan_.next = next_step::call_model;
        } else if (is_user(*last)) {
            plan_.next = next_step::call_model;
            plan_.new_user_turn = true;
        } else if (last->role == role::tool && !has_dead_calls()) {
            plan_.next = waiting_
                             ? (answers_pending_ ? next_step::wait_for_answers : next_step::nothing)
                             : next_step::call_model;
        }
    }

    // True if the last answer has a dead call, as in a known thread: the results beside it are not
    // those that the model waits for.
    [[nodiscard]] bool has_dead_calls() const {
        const auto answer = std::find_if(kept_.rbegin(), kept_.rend(), [](const message& given) {
            return given.role == role::assistant && given.subagent_run_id.empty();
        });
        return answer != kept_.rend() &&
               std::ranges::any_of(answer->tool_calls, [this](const tool_call& call) {
                   const call_record* stored = record_of(call.id);
                   return stored != nullptr && stored->status == call_status::dead;
               });
    }

    void store() {
        for (std::size_t i = 0; i < kept_.size(); ++i) {
            if (is_stored_[i]) {
                continue;
            }
            message& given = kept_[i];
            for (const tool_call& call : given.tool_calls) {
                store_call(call);
            }
            if (given.role == role::tool && !is_of_approved_call(given)) {
                store_answer(given);
            } else if (is_user(given)) {
                plan_.new_user_messages.push_back(given.id);
            }
            out_.append(std::move(given));
        }
        for (const judged_answer& answer : judged_.answers) {
            if (std::optional<message> result = out_.settle(answer, at_its_message(*answer.call))) {
                out_.append(std::move(*result));
            }
        }
        for (const call_record* call : left_behind_) {
            abandon(*call);
        }
        if (!waiting_) {
            for (const call_record* call : still_open_) {
                abandon(*call);
            }
        }
        out_.continue_subagents([this](const call_record& call) {
            return calls_.made.contains(call.id) && !moved_.contains(call.id);
        });
        plan_.change.branches.push_back({branch_, branch{out_.tip(), 0}});
        plan_.change.head = branch_;
        plan_.change.last_request_had_history =
            std::ranges::any_of(input_.messages, [](const message& given) {
                return given.role == role::assistant;
            });
    }

    void store_call(const tool_call& call) {
        call_record record;
        if (const call_record* stored = record_of(call.id)) {
            record = *stored;
        } else {
            record.id = call.id;
            record.name = call.name;
            record.owner =
                input_.is_server_tool(call.name) ? call_owner::server : call_owner::external;
            record.status = call_status::abandoned;
        }
        if (calls_.answers.contains(call.id) && !is_dead(record_of(call.id))) {
            record.status = call_status::answered;
        }
        record.made_in = out_.next_node();
        moved_[call.id] = record.made_in;
        out_.set_call(std::move(record));
    }

    void store_answer(const message& answer) {
        const call_record* stored = record_of(answer.tool_call_id);
        if (stored != nullptr && stored->status == call_status::pending) {
            set_status(*stored, call_status::answered);
        }
        plan_.answers.push_back({answer.tool_call_id, answer.id});
    }

    void abandon(const call_record& call) { set_status(call, call_status::abandoned); }

    // A message that the client has changed is stored again, and its calls move to the new copy.
    [[nodiscard]] call_record at_its_message(const call_record& call) const {
        call_record changed = call;
        if (const auto moved = moved_.find(call.id); moved != moved_.end()) {
            changed.made_in = moved->second;
        }
        return changed;
    }

    void set_status(const call_record& call, call_status status) {
        out_.set_status(at_its_message(call), status);
    }

    const thread_record& thread_;
    const history_input& input_;
    const history_policy& policy_;
    input_calls calls_;
    history_plan plan_;
    plan_writer out_;

    view_map<const call_record*> records_;
    view_map<std::string_view>
        inner_;      // Id of a message of a subagent that has run here => its run.
    view_set shown_; // Ids of the stored messages that are only shown.
    view_map<const message*> seen_;
    view_map<const message*> executed_; // Stored results of calls that a person approved.
    view_set left_;                     // Calls with an error result of this server.
    content_forms forms_;
    text_map<node_index> moved_;
    std::size_t last_speaker_ = 0; // Index of the last user or assistant message.
    std::size_t last_user_ = 0;

    std::vector<message> kept_;
    std::vector<bool> is_stored_;                 // For each of kept_.
    std::vector<const call_record*> still_open_;  // Pending calls in the last turn of the input.
    std::vector<const call_record*> left_behind_; // Pending calls with a user message after them.
    std::uint32_t branch_ = 0;
    judged_answers judged_;
    bool answers_pending_ = false;
    bool answers_inner_ = false; // A pending call of a subagent is answered.
    bool waiting_ = false;
};

} // namespace

result<history_plan>
plan_import(const thread_record& thread, const history_input& input, const history_policy& policy) {
    return importer(thread, input, policy).run();
}

} // namespace agui::session
