#include "session/history/approval.hpp"

#include "session/base/finite_json.hpp"
#include "session/base/sha256_text.hpp"
#include "session/base/sorted_json.hpp"
#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"
#include "session/history/missing_result.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

// Separates the call's id from the digest. Ids of calls may hold it, digests do not.
constexpr char digest_mark = ':';

constexpr std::string_view answered_twice = "An interrupt is answered twice.";
constexpr std::string_view answered_otherwise =
    "An interrupt has already been answered in another way.";
constexpr std::string_view expired = "An interrupt has expired, so it can only be cancelled.";
constexpr std::string_view bad_payload = "An answer does not fit its responseSchema.";
constexpr std::string_view bad_arguments = "Edited arguments do not fit the tool.";

// The result of a call whose question was cancelled: its tool has already been called.
constexpr std::string_view not_given = "The input that the tool asked for was not given.";

const tool_call* written_call(const thread_record& thread, const call_record& call) {
    if (call.made_in >= thread.nodes.size()) {
        return nullptr;
    }
    const std::vector<tool_call>& made = thread.nodes[call.made_in].message.tool_calls;
    const auto found = std::ranges::find(made, call.id, &tool_call::id);
    return found == made.end() ? nullptr : &*found;
}

// Of the approval of a call that has asked nothing, otherwise of its last question.
unix_ms expiry_of(
    const thread_record& thread, const call_record& call, const call_inputs& asked,
    std::chrono::seconds life
) {
    const unix_ms begin = asked.questions.empty() ? thread.nodes[call.made_in].created_at
                                                  : asked.questions.back().asked_at;
    return begin + std::chrono::milliseconds(life).count();
}

std::string digest_of(const approval_answer& given) {
    json::array answer{given.cancelled ? "cancelled" : "resolved"};
    if (!given.cancelled && given.payload) {
        answer.push_back(*given.payload);
    }
    return sha256_text(sorted_json(json::value(std::move(answer))));
}

// A member that may be absent; null counts as absent.
const json::value* member(const json::object& object, std::string_view key) {
    const json::value* const found = object.if_contains(key);
    return found == nullptr || found->is_null() ? nullptr : found;
}

class judge {
public:
    judge(
        const thread_record& thread, const std::function<bool(const call_record&)>& is_on_branch,
        const answer_checks& checks, std::chrono::seconds life, unix_ms now
    )
        : thread_(thread), is_on_branch_(is_on_branch), checks_(checks), life_(life), now_(now) {}

    judged_answers run(const std::vector<approval_answer>& given) {
        if (!given.empty()) {
            index();
        }
        view_set seen;
        for (const approval_answer& each : given) {
            count_work();
            if (!seen.insert(each.approval_id).second) {
                return refused(answered_twice);
            }
            if (const std::string_view refusal = read(each); !refusal.empty()) {
                return refused(refusal);
            }
        }
        for (const call_record& call : thread_.calls) {
            out_.any_open = out_.any_open || (call.status == call_status::asked &&
                                              is_on_branch_(call) && !answered_.contains(call.id));
        }
        return std::move(out_);
    }

private:
    // The approval or the question that an id names.
    struct named {
        const call_record* call = nullptr;
        const call_inputs* asked = nullptr;
        std::size_t question = 0; // Its number; 0 for the approval.

        [[nodiscard]] bool is_last() const noexcept { return question == asked->questions.size(); }
    };

    // Built once, because a request may have thousands of answers.
    void index() {
        count_work(thread_.calls.size() + thread_.nodes.size());
        for (const call_record& call : thread_.calls) {
            calls_.emplace(call.id, &call);
        }
        for (const stored_message& node : thread_.nodes) {
            const message& result = node.message;
            if (result.role == role::tool && !result.approval_answer.empty()) {
                digests_.emplace(result.tool_call_id, result.approval_answer);
            }
        }
        inputs_ = input_index(thread_);
    }

    static judged_answers refused(std::string_view why) {
        judged_answers none;
        none.refusal = why;
        return none;
    }

    std::string_view read(const approval_answer& given) {
        const std::optional<named> about = find(given.approval_id);
        if (!about) {
            ++out_.unknown;
            return {};
        }
        if (about->call->status == call_status::asked && about->is_last()) {
            return read_answer(given, *about);
        }
        return read_repeat(given, *about);
    }

    // nullopt if the id does not name a call of the branch with its tool and its arguments.
    [[nodiscard]] std::optional<named> find(std::string_view id) const {
        const auto found = calls_.find(call_of_approval(id));
        if (found == calls_.end()) {
            return std::nullopt;
        }
        const call_record& call = *found->second;
        const tool_call* const written = call.owner == call_owner::server && is_on_branch_(call)
                                             ? written_call(thread_, call)
                                             : nullptr;
        if (written == nullptr) {
            return std::nullopt;
        }
        const call_inputs& asked = inputs_.of(call.id);
        const message& made_in = thread_.nodes[call.made_in].message;
        const bool had_approval = asked.questions.empty() || !asked.approval.digest.empty();
        for (std::size_t i = had_approval ? 0 : 1; i <= asked.questions.size(); ++i) {
            if (approval_id(made_in.id, *written, i) == id) {
                return named{&call, &asked, i};
            }
        }
        return std::nullopt;
    }

    std::string_view read_answer(const approval_answer& given, const named& about) {
        judged_answer answer;
        answer.call = about.call;
        answer.digest = digest_of(given);
        answer.is_input = about.question > 0;
        if (given.cancelled) {
            answer.becomes = call_status::cancelled;
        } else if (now_ >= expiry_of(thread_, *about.call, *about.asked, life_)) {
            return expired;
        } else if (answer.is_input) {
            if (const auto refusal = read_input(given.payload, *about.asked, answer);
                !refusal.empty()) {
                return refusal;
            }
        } else if (const auto refusal = read_payload(given.payload, answer); !refusal.empty()) {
            return refusal;
        }
        answered_.insert(about.call->id);
        out_.answers.push_back(std::move(answer));
        return {};
    }

    // The tool is called again as the approval has allowed it, with all answers.
    std::string_view read_input(
        const std::optional<json::value>& payload, const call_inputs& asked, judged_answer& answer
    ) const {
        json::value given = payload ? json::value(*payload, json::storage_ptr()) : json::value();
        if (checks_.input && !checks_.input(asked.questions.back().schema(), given)) {
            return bad_payload;
        }
        for (std::size_t i = 0; i + 1 < asked.questions.size(); ++i) {
            const json::value* const earlier = asked.questions[i].answer;
            answer.inputs.push_back(earlier == nullptr ? json::value() : *earlier);
        }
        answer.inputs.push_back(std::move(given));
        answer.arguments = asked.approval.arguments;
        answer.becomes = call_status::approved;
        return {};
    }

    std::string_view
    read_payload(const std::optional<json::value>& payload, judged_answer& answer) const {
        const json::object* const object = payload ? payload->if_object() : nullptr;
        const json::value* const approved =
            object == nullptr ? nullptr : member(*object, "approved");
        if (approved == nullptr || !approved->is_bool()) {
            return bad_payload;
        }
        if (const json::value* const reason = member(*object, "reason")) {
            if (!reason->is_string()) {
                return bad_payload;
            }
            answer.reason = reason->get_string();
        }
        const json::value* const edited = member(*object, "editedArgs");
        if (edited != nullptr && !edited->is_object()) {
            return bad_payload;
        }
        if (!approved->get_bool()) {
            return {};
        }
        answer.becomes = call_status::approved;
        if (edited != nullptr) {
            if (checks_.arguments && !checks_.arguments(answer.call->name, edited->get_object())) {
                return bad_arguments;
            }
            answer.arguments = json::serialize(*edited);
        }
        return {};
    }

    // A client that has not seen the outcome of its answer sends it again.
    std::string_view read_repeat(const approval_answer& given, const named& about) {
        if (about.call->status == call_status::indeterminate) {
            return {};
        }
        const std::string_view known = known_digest(about);
        if (known.empty()) {
            ++out_.unknown;
            return {};
        }
        return known == digest_of(given) ? std::string_view() : answered_otherwise;
    }

    // Of the answer that an approval or a question has; empty if none is known.
    [[nodiscard]] std::string_view known_digest(const named& about) const {
        if (!about.is_last()) {
            return about.question == 0 ? std::string_view(about.asked->approval.digest)
                                       : about.asked->questions[about.question - 1].digest;
        }
        const auto known = digests_.find(about.call->id);
        return known == digests_.end() ? std::string_view() : known->second;
    }

    const thread_record& thread_;
    const std::function<bool(const call_record&)>& is_on_branch_;
    const answer_checks& checks_;
    const std::chrono::seconds life_;
    const unix_ms now_;
    judged_answers out_;
    view_map<const call_record*> calls_;
    view_map<std::string_view> digests_; // Of the answers that the calls' results hold.
    input_index inputs_;
    view_set answered_;
};

} // namespace

std::string approval_id(std::string_view message_id, const tool_call& call, std::size_t question) {
    // Half of a SHA-256 is enough to tell arguments apart, and keeps the id readable.
    constexpr std::size_t digest_characters = 32;
    json::array bound{message_id, call.id, call.name};
    if (const auto arguments = parse_arguments(call.arguments)) {
        bound.push_back(*arguments);
    } else {
        bound.emplace_back(call.arguments);
    }
    if (question > 0) {
        bound.emplace_back(question);
    }
    const std::string digest = sha256_text(sorted_json(json::value(std::move(bound))));
    return call.id + digest_mark + digest.substr(0, digest_characters);
}

std::string_view call_of_approval(std::string_view id) noexcept {
    return id.substr(0, std::min(id.rfind(digest_mark), id.size()));
}

std::vector<approval>
open_approvals(const thread_record& thread, node_index tip, std::chrono::seconds life, bool held) {
    std::vector<approval> open;
    const auto waits = [held](const call_record& call) {
        return call.status == call_status::asked || (held && call.status == call_status::held);
    };
    if (std::ranges::none_of(thread.calls, waits)) {
        return open;
    }
    std::vector<bool> on_branch(thread.nodes.size());
    for (const node_index node : thread.path(tip)) {
        on_branch[node] = true;
    }
    const input_index inputs(thread);
    for (const call_record& call : thread.calls) {
        const tool_call* const written = waits(call) ? written_call(thread, call) : nullptr;
        if (written == nullptr || !on_branch[call.made_in]) {
            continue;
        }
        const call_inputs& asked = inputs.of(call.id);
        const message& made_in = thread.nodes[call.made_in].message;
        open.push_back(
            {approval_id(made_in.id, *written, asked.questions.size()), call.id, call.name,
             written->arguments, expiry_of(thread, call, asked, life), made_in.subagent_run_id}
        );
        if (!asked.questions.empty()) {
            open.back().question =
                std::make_shared<const input_question>(asked.questions.back().read());
        }
    }
    return open;
}

judged_answers judge_approvals(
    const thread_record& thread, const std::vector<approval_answer>& given,
    const std::function<bool(const call_record&)>& is_on_branch, const answer_checks& checks,
    std::chrono::seconds life, unix_ms now
) {
    return judge(thread, is_on_branch, checks, life, now).run(given);
}

message refused_result(const judged_answer& answer) {
    tool_call call;
    call.id = answer.call->id;
    call.name = answer.call->name;
    message result = shown_missing_result(call, answer.becomes);
    if (answer.is_input) {
        result.error = not_given;
        result.content = json::serialize(json::object{{"error", not_given}});
    } else if (!answer.reason.empty()) {
        // Without its full stop, the sentence introduces the person's words.
        result.error->pop_back();
        *result.error += ": " + answer.reason;
        result.content = json::serialize(json::object{{"error", *result.error}});
    }
    // The model gets the error alone, as for every call without a result.
    result.for_model = std::make_shared<const content>(std::string());
    result.approval_answer = answer.digest;
    return result;
}

} // namespace agui::session
