#include "session/history/input_note.hpp"

#include "session/base/json_member.hpp"
#include "session/base/work_count.hpp"

#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

constexpr std::string_view question_type = "agui-gateway.question";
constexpr std::string_view input_answer_type = "agui-gateway.answer";

constexpr std::string_view call_member = "toolCallId";
constexpr std::string_view text_member = "message";
constexpr std::string_view schema_member = "responseSchema";
constexpr std::string_view metadata_member = "metadata";
constexpr std::string_view approval_member = "approvalAnswer";
constexpr std::string_view arguments_member = "arguments";
constexpr std::string_view answer_member = "answer";
constexpr std::string_view digest_member = "digest";

message input_note(std::string before, std::string_view type, std::string_view call_id) {
    message note;
    note.id = std::move(before);
    note.role = role::activity;
    note.activity_type = type;
    note.activity.emplace(call_member, call_id);
    return note;
}

const json::object& object_at(const json::object& from, std::string_view key) {
    static const json::object none;
    const json::value* const found = from.if_contains(key);
    const json::object* const object = found == nullptr ? nullptr : found->if_object();
    return object == nullptr ? none : *object;
}

} // namespace

message question_note(
    std::string before, std::string_view call_id, const input_question& question,
    const earlier_approval& approval
) {
    message note = input_note(std::move(before), question_type, call_id);
    note.activity.emplace(text_member, question.message);
    note.activity.emplace(schema_member, question.schema);
    if (!question.metadata.empty()) {
        note.activity.emplace(metadata_member, question.metadata);
    }
    if (!approval.digest.empty()) {
        note.activity.emplace(approval_member, approval.digest);
    }
    if (approval.arguments) {
        note.activity.emplace(arguments_member, *approval.arguments);
    }
    return note;
}

message answer_note(
    std::string before, std::string_view call_id, const json::value& answer, std::string_view digest
) {
    message note = input_note(std::move(before), input_answer_type, call_id);
    // A plain copy would stay in the memory resource of the parsed request.
    note.activity.emplace(answer_member, json::value(answer, json::storage_ptr()));
    note.activity.emplace(digest_member, digest);
    return note;
}

bool is_input_note(const message& value) noexcept {
    return value.role == role::activity &&
           (value.activity_type == question_type || value.activity_type == input_answer_type);
}

input_question asked_input::read() const {
    return {
        std::string(string_in(*question, text_member)), schema(),
        object_at(*question, metadata_member)
    };
}

const json::object& asked_input::schema() const { return object_at(*question, schema_member); }

input_index::input_index(const thread_record& thread) {
    count_work(thread.nodes.size());
    for (const stored_message& node : thread.nodes) {
        if (!is_input_note(node.message)) {
            continue;
        }
        const json::object& note = node.message.activity;
        call_inputs& call = calls_[string_in(note, call_member)];
        if (node.message.activity_type == question_type) {
            if (call.questions.empty()) {
                call.approval.digest = string_in(note, approval_member);
                if (note.contains(arguments_member)) {
                    call.approval.arguments = string_in(note, arguments_member);
                }
            }
            call.questions.push_back({&note, node.created_at, nullptr, {}});
        } else if (!call.questions.empty()) {
            call.questions.back().answer = note.if_contains(answer_member);
            call.questions.back().digest = string_in(note, digest_member);
        }
    }
}

const call_inputs& input_index::of(std::string_view call_id) const {
    static const call_inputs none;
    const auto found = calls_.find(call_id);
    return found == calls_.end() ? none : found->second;
}

} // namespace agui::session
