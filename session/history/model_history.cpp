#include "session/history/model_history.hpp"

#include "session/base/finite_json.hpp"

#include <boost/json/serialize.hpp>

#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace agui::session {

namespace {

// A call without a stored answer gets a result that says what is known, never a success.
std::string_view missing_answer(const call_record* call) noexcept {
    if (call == nullptr) {
        return "There is no result for this call.";
    }
    switch (call->status) {
    case call_status::open:
    case call_status::dead:
        return "The call was interrupted; whether it had any effect is unknown.";
    case call_status::pending:
    case call_status::abandoned:
        return "The call was not answered by the application.";
    case call_status::denied:
        return "The call was not allowed.";
    case call_status::answered:
        return "The result of this call is not available.";
    }
    return "There is no result for this call.";
}

// Model servers refuse a history whose arguments are no JSON object, even their own model's.
std::string object_arguments(const std::string& text) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
        return "{}";
    }
    const auto parsed = parse_arguments(text);
    if (parsed && parsed->is_object()) {
        return text;
    }
    return boost::json::serialize(boost::json::object{{"INVALID_JSON", text}});
}

bool is_reasoning(const message& value) noexcept {
    return value.role == role::reasoning && value.subagent_run_id.empty();
}

bool is_for_the_model(const message& value) noexcept {
    return value.subagent_run_id.empty() && value.role != role::activity &&
           value.role != role::reasoning;
}

class builder {
public:
    builder(const thread_record& thread, node_index tip)
        : thread_(thread), path_(thread.path(tip)) {
        // A call that a later message repeats is finished: later results answer the repeat.
        std::unordered_map<std::string_view, const message*> made_in;
        std::unordered_set<std::string_view> closed;
        for (const node_index node : path_) {
            const message& stored = thread_.nodes[node].message;
            if (is_reasoning(stored)) {
                reasoning_.try_emplace(stored.id, &stored);
            }
            if (!is_for_the_model(stored)) {
                continue;
            }
            if (stored.role == role::tool && !closed.contains(stored.tool_call_id)) {
                results_.try_emplace(stored.tool_call_id, &stored);
            }
            for (const tool_call& call : stored.tool_calls) {
                if (made_in.try_emplace(call.id, &stored).first->second != &stored) {
                    closed.insert(call.id);
                }
            }
        }
        for (const call_record& call : thread_.calls) {
            calls_.try_emplace(call.id, &call);
        }
    }

    std::vector<message> build() {
        for (const node_index node : path_) {
            const message& stored = thread_.nodes[node].message;
            if (!is_for_the_model(stored) || stored.role == role::tool) {
                continue;
            }
            if (stored.role == role::assistant) {
                add_assistant(stored);
            } else {
                out_.push_back(stored);
            }
        }
        return std::move(out_);
    }

private:
    void add_assistant(const message& stored) {
        message assistant = stored;
        assistant.tool_calls.clear();
        for (const tool_call& call : stored.tool_calls) {
            if (seen_.insert(call.id).second) {
                assistant.tool_calls.push_back(call);
                assistant.tool_calls.back().arguments = object_arguments(call.arguments);
            }
        }
        if (assistant.tool_calls.empty() && is_empty(assistant.content)) {
            return;
        }
        add_reasoning(stored);
        const std::vector<tool_call> calls = assistant.tool_calls;
        out_.push_back(std::move(assistant));
        for (const tool_call& call : calls) {
            out_.push_back(result_of(call));
        }
    }

    void add_reasoning(const message& answer) {
        if (!answer.origin) {
            return;
        }
        for (const turn_block& block : answer.origin->blocks) {
            const auto found = block.what == turn_block::kind::reasoning ? reasoning_.find(block.id)
                                                                         : reasoning_.end();
            if (found != reasoning_.end()) {
                out_.push_back(*found->second);
            }
        }
    }

    message result_of(const tool_call& call) const {
        const auto stored = results_.find(call.id);
        if (stored != results_.end()) {
            message result = *stored->second;
            result.name = call.name;
            return result;
        }
        message result;
        result.id = call.id + ":missing";
        result.role = role::tool;
        result.tool_call_id = call.id;
        result.name = call.name;
        const auto record = calls_.find(call.id);
        result.error =
            std::string(missing_answer(record == calls_.end() ? nullptr : record->second));
        return result;
    }

    const thread_record& thread_;
    std::vector<node_index> path_;
    std::unordered_map<std::string_view, const message*> results_; // By call id; the first counts.
    std::unordered_map<std::string_view, const message*> reasoning_; // By its id.
    std::unordered_map<std::string_view, const call_record*> calls_;
    std::unordered_set<std::string_view> seen_;
    std::vector<message> out_;
};

} // namespace

std::vector<message> model_history(const thread_record& thread, node_index tip) {
    return builder(thread, tip).build();
}

} // namespace agui::session
