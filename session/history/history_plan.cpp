#include "session/history/history_plan.hpp"

#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"
#include "session/conversation/content_form.hpp"
#include "session/history/history_import.hpp"
#include "session/history/history_place.hpp"
#include "session/history/history_rules.hpp"
#include "session/history/missing_result.hpp"
#include "session/history/subagent.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace agui::session {

namespace {

// A known thread: user messages decide where the run continues, answers are matched by call id.
class continuation {
public:
    continuation(
        const thread_record& thread, const history_input& input, const history_policy& policy
    )
        : thread_(thread),
          input_(input),
          policy_(policy),
          calls_(input.messages),
          index_(thread, input.messages),
          out_(thread, plan_),
          place_(find_place(thread, input, policy, calls_, index_)) {}

    result<history_plan> run() {
        out_.start_at(place_.base);
        on_base_path_.assign(thread_.nodes.size(), false);
        for (const node_index node : thread_.path(place_.base)) {
            on_base_path_[node] = true;
        }
        if (place_.repeats) {
            out_.warn("a repeated message was dropped");
        }
        if (auto failed = refuse_taken_ids()) {
            return std::move(*failed);
        }
        if (auto failed = read_answers()) {
            return std::move(*failed);
        }
        if (!judge_answers()) {
            return refused();
        }
        if (auto failed = settle_open_calls()) {
            return std::move(*failed);
        }
        repeat_results();
        append_all();
        store_branch();
        decide_next();
        out_.continue_subagents([this](const call_record& call) {
            return is_on_base_path(call.made_in);
        });
        return std::move(plan_);
    }

private:
    // A user message is identified by its id, so it cannot have the id of another kind of message.
    [[nodiscard]] std::optional<failure> refuse_taken_ids() {
        view_map<std::size_t> given;
        for (const std::size_t i : place_.new_users) {
            const std::string& id = input_.messages[i].id;
            if (index_.has_message(id) && index_.users_of(id).empty()) {
                given.try_emplace(id, i);
            }
        }
        for (const node_index node : given.empty() ? std::vector<node_index>() : place_.path) {
            const auto taken = given.find(thread_.nodes[node].message.id);
            if (is_on_base_path(node) && taken != given.end()) {
                return failure{
                    errc::invalid_input,
                    "is already the id of another message in this thread",
                    "messages[" + std::to_string(taken->second) + "].id",
                    {}
                };
            }
        }
        return std::nullopt;
    }

    // Stores a message that is not a user message, under a new id if the thread already has its id.
    std::string append_other(message value) {
        const std::string given = value.id;
        for (std::size_t count = 1;
             index_.has_message(value.id) || !appended_.insert(value.id).second; ++count) {
            value.id = given + ":" + std::to_string(count);
        }
        std::string id = value.id;
        out_.append(std::move(value));
        return id;
    }

    // A result belongs to the agent that has made the call, whatever the client says.
    std::string append_result(message value, const call_record& call) {
        value.subagent_run_id = thread_.nodes[call.made_in].message.subagent_run_id;
        return append_other(std::move(value));
    }

    [[nodiscard]] bool is_on_base_path(node_index node) const {
        return node < on_base_path_.size() && on_base_path_[node];
    }

    // Sorts the tool messages of the input into answers that take effect, results of the client's
    // own calls, and those that are left out.
    std::optional<failure> read_answers() {
        for (std::size_t i = 0; i < input_.messages.size(); ++i) {
            const message& given = input_.messages[i];
            if (given.role != role::tool || is_missing_result(given)) {
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
        if (first.error != other.error || forms_.of(first) != forms_.of(other)) {
            out_.warn("a different answer to an already answered call was ignored");
        }
    }

    std::optional<failure> read_answer(std::size_t index, const call_record& call) {
        const message& given = input_.messages[index];
        if (call.status == call_status::answered) {
            if (const message* const stored = index_.result_of(call.id)) {
                warn_if_different(*stored, given);
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

    // A call and its result that the client made itself. Calls before the last known user message
    // came with an earlier request, which decided about them.
    std::optional<failure> read_own_result(std::size_t index) {
        const message& given = input_.messages[index];
        const auto& [call, made_by] = calls_.made.at(given.tool_call_id);
        if (index < place_.first_unknown() || !made_by->subagent_run_id.empty()) {
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

    // False if the answers to approvals are refused.
    bool judge_answers() {
        judged_ = judge_approvals(
            thread_, input_.approvals,
            [this](const call_record& call) { return is_on_base_path(call.made_in); },
            input_.checks, policy_.approval_life, input_.now
        );
        if (judged_.unknown > 0) {
            out_.warn("a resume entry names no interrupt of this conversation");
        }
        return judged_.refusal.empty();
    }

    [[nodiscard]] history_plan refused() const {
        history_plan plan;
        plan.next = next_step::refuse;
        plan.refusal = judged_.refusal;
        plan.warnings = plan_.warnings;
        return plan;
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
        situation.goes_on = place_.regenerate || !place_.new_users.empty();
        situation.answered = !answers_.empty() || !judged_.answers.empty();
        situation.own_pair_at_end = own_pair_at_end_;
        situation.whole_history = place_.had_history;
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

    // The result of a call that waited for its approval is stored behind all messages that came
    // meanwhile, on the branch of the answer. The branch of this request gets it, too, if it has
    // the call. It is told as a new message.
    void repeat_results() {
        for (const node_index node : results_elsewhere(thread_, thread_.path(place_.base))) {
            message result = thread_.nodes[node].message;
            result.prompt = nullptr;
            out_.append(std::move(result));
        }
    }

    // Answers belong next to their call, so they come first: editing a message that came with them
    // then keeps them. The rest keeps the order of the input.
    void append_all() {
        for (const judged_answer& answer : judged_.answers) {
            if (std::optional<message> result = out_.settle(answer, *answer.call)) {
                append_result(std::move(*result), *answer.call);
            }
        }
        for (const message* answer : answers_) {
            const call_record& call = *index_.find_call(answer->tool_call_id);
            out_.set_status(call, call_status::answered);
            plan_.answers.push_back({call.id, append_result(*answer, call)});
        }
        auto next_user = place_.new_users.begin();
        for (std::size_t i = 0; i < input_.messages.size(); ++i) {
            const message& given = input_.messages[i];
            if (next_user != place_.new_users.end() && *next_user == i) {
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
        // A reshaped message also holds the server's calls and text: only the client's calls are
        // new.
        if (holds_known_call || index_.has_message(given.id)) {
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
        append_other(std::move(own));
        for (const tool_call& call : calls) {
            plan_.answers.push_back({call.id, append_other(*calls_.answers.at(call.id))});
        }
    }

    // Clients send their system text with every request, some under a new id each time: it is
    // stored only if the branch does not hold it yet.
    void append_system(const message& given) {
        if (!policy_.accept_client_system) {
            out_.warn("a system message of the client was dropped");
            return;
        }
        if (system_texts_.empty()) {
            for (const node_index node : place_.path) {
                const message& stored = thread_.nodes[node].message;
                if (is_on_base_path(node) && is_system(stored)) {
                    system_texts_.insert(system_text(stored));
                }
            }
        }
        if (system_texts_.insert(system_text(given)).second) {
            append_other(given);
        }
    }

    [[nodiscard]] static std::string system_text(const message& value) {
        return std::string(to_string(value.role)) + content_form(value.content).key();
    }

    void store_branch() {
        std::uint32_t index = place_.branch;
        if (place_.base != place_.tip) {
            index = static_cast<std::uint32_t>(thread_.branches.size());
        }
        if (place_.base != place_.tip || out_.tip() != place_.tip) {
            plan_.change.branches.push_back({index, branch{out_.tip(), 0}});
        }
        if (index != thread_.head) {
            plan_.change.head = index;
        }
        // Only a new user message shows whether the client sends history: a retry of a delta looks
        // like history if a tool answer came with it.
        if (!place_.new_users.empty()) {
            plan_.change.last_request_had_history = place_.had_history;
        }
    }

    void decide_next() {
        const bool answers_approval = !judged_.answers.empty();
        if (judged_.any_open) {
            plan_.next = next_step::wait_for_approval;
        } else if (!place_.new_users.empty() || place_.regenerate) {
            plan_.next = next_step::call_model;
            plan_.new_user_turn = true;
        } else if (waiting_) {
            const bool any_new = !answers_.empty() || !own_calls_.empty() || answers_approval;
            plan_.next = any_new ? next_step::wait_for_answers : next_step::nothing;
        } else if (!answers_.empty() || own_pair_at_end_ || answers_approval) {
            plan_.next = next_step::call_model;
        } else {
            const message* last = last_spoken();
            const bool user = last != nullptr && last->role == role::user;
            const bool result = last != nullptr && last->role == role::tool && !has_dead_calls();
            // The branch ends in something the model has not answered: that model call failed.
            plan_.next = user || result ? next_step::call_model : next_step::nothing;
            plan_.new_user_turn = user;
        }
        // A client does not know whose call it answers, so it is sent the answers of subagents.
        plan_.snapshot = plan_.next == next_step::nothing ? misses_messages() : answers_inner();
    }

    [[nodiscard]] bool answers_inner() const {
        return plan_.next == next_step::wait_for_answers &&
               std::ranges::any_of(plan_.change.messages, [](const stored_message& each) {
                   return !each.message.subagent_run_id.empty();
               });
    }

    // The end of the branch as the model sees it.
    [[nodiscard]] const message* last_spoken() const {
        for (auto node = place_.path.rbegin(); node != place_.path.rend(); ++node) {
            const message& stored = thread_.nodes[*node].message;
            const bool spoken = stored.role == role::user || stored.role == role::assistant ||
                                stored.role == role::tool;
            if (spoken && stored.subagent_run_id.empty()) {
                return &stored;
            }
        }
        return nullptr;
    }

    // True if a call of the model's last answer is dead: then the results beside it are not those
    // that the model waits for.
    [[nodiscard]] bool has_dead_calls() const {
        for (auto node = place_.path.rbegin(); node != place_.path.rend(); ++node) {
            const message& stored = thread_.nodes[*node].message;
            if (stored.role == role::assistant && stored.subagent_run_id.empty()) {
                return std::ranges::any_of(stored.tool_calls, [this](const tool_call& call) {
                    const call_record* record = index_.find_call(call.id);
                    return record != nullptr && record->status == call_status::dead;
                });
            }
        }
        return false;
    }

    // True if the branch has messages after the last one that the input also holds.
    [[nodiscard]] bool misses_messages() const {
        const branch_index positions(thread_, place_.path);
        for (auto given = input_.messages.rbegin(); given != input_.messages.rend(); ++given) {
            if (const std::optional<std::size_t> position = positions.find(*given)) {
                return *position + 1 < end_without_notes(thread_, place_.path);
            }
        }
        return !place_.path.empty();
    }

    const thread_record& thread_;
    const history_input& input_;
    const history_policy& policy_;
    input_calls calls_;
    thread_index index_;
    history_plan plan_;
    plan_writer out_;

    history_place place_;
    content_forms forms_;
    judged_answers judged_;
    bool waiting_ = false;
    bool own_pair_at_end_ = false;
    std::vector<bool> on_base_path_;
    text_set appended_;     // Ids of the appended messages.
    text_set system_texts_; // Texts on the branch and among the appended messages.

    std::vector<const message*> answers_;
    view_set answered_;
    view_set own_calls_; // Calls made and answered by the client.
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
