#include "session/history/history_repair.hpp"

#include "session/base/finite_json.hpp"
#include "session/base/text_map.hpp"
#include "session/history/missing_result.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::session {

namespace {

// Model servers refuse a history whose arguments are no JSON object, even their own model's.
std::string object_arguments(std::string text) {
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
        return "{}";
    }
    if (is_arguments_object(text)) {
        return text;
    }
    return boost::json::serialize(boost::json::object{{"INVALID_JSON", text}});
}

// The tables own their keys: the messages are moved while the tables are in use.
class repair {
public:
    explicit repair(history_selection selected)
        : messages_(std::move(selected.messages)), calls_(std::move(selected.calls)) {
        // A call that a later message repeats is finished: later results answer the repeat.
        view_map<std::size_t> made_in;
        view_set closed;
        for (std::size_t i = 0; i < messages_.size(); ++i) {
            const message& each = messages_[i];
            if (each.role == role::reasoning) {
                reasoning_.try_emplace(each.id, i);
                continue;
            }
            if (each.role == role::tool && !closed.contains(each.tool_call_id)) {
                results_.try_emplace(each.tool_call_id, i);
            }
            for (const tool_call& call : each.tool_calls) {
                if (made_in.try_emplace(call.id, i).first->second != i) {
                    closed.insert(call.id);
                }
            }
        }
    }

    std::vector<message> run() {
        if (has_only_texts()) {
            std::erase_if(messages_, is_blank_answer);
            return std::move(messages_);
        }
        out_.reserve(messages_.size());
        for (message& each : messages_) {
            if (each.role == role::assistant) {
                add_assistant(each);
            } else if (each.role != role::tool && each.role != role::reasoning) {
                out_.push_back(std::move(each));
            }
        }
        return std::move(out_);
    }

private:
    // Nothing is to be matched then, and the messages need not be moved one by one.
    [[nodiscard]] bool has_only_texts() const {
        return std::ranges::all_of(messages_, [](const message& each) {
            return each.role != role::tool && each.role != role::reasoning &&
                   each.tool_calls.empty();
        });
    }
    // The model's server wants a paused answer back, even one without text, and the data of one
    // that has only media.
    static bool is_blank_answer(const message& value) {
        const bool is_wanted =
            value.origin && (value.origin->end == turn_end::paused ||
                             (value.origin->end == turn_end::media && !value.origin->data.empty()));
        return value.role == role::assistant && is_blank(value.content) && !is_wanted;
    }

    void add_assistant(message& assistant) {
        std::vector<tool_call> calls;
        for (tool_call& call : assistant.tool_calls) {
            if (seen_.insert(call.id).second) {
                call.arguments = object_arguments(std::move(call.arguments));
                calls.push_back(std::move(call));
            }
        }
        if (calls.empty() && is_blank_answer(assistant)) {
            return;
        }
        add_reasoning(assistant);
        assistant.tool_calls = calls;
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
                out_.push_back(messages_[found->second]); // Two answers may name the same one.
            }
        }
    }

    message result_of(const tool_call& call) {
        const auto stored = results_.find(call.id);
        if (stored != results_.end()) {
            message& result = messages_[stored->second];
            result.name = call.name;
            if (result.for_model) {
                result.content = *result.for_model;
                result.for_model = nullptr;
            }
            return std::move(result);
        }
        const auto record = calls_.find(call.id);
        return missing_result(
            call, record == calls_.end() ? std::nullopt : std::optional(record->second)
        );
    }

    using places = text_map<std::size_t>;

    std::vector<message> messages_;
    call_statuses calls_;
    places results_;   // Keyed by call id; the first counts.
    places reasoning_; // Keyed by id.
    text_set seen_;    // Calls that are in out_.
    std::vector<message> out_;
};

} // namespace

std::vector<message> repair_history(history_selection selected) {
    return repair(std::move(selected)).run();
}

} // namespace agui::session
