#include "translator/input/steer_request.hpp"

#include "translator/input/document_reader.hpp"
#include "translator/input/input_fields.hpp"
#include "translator/input/input_messages.hpp"

#include <array>
#include <utility>

namespace agui::translator {

namespace {

constexpr std::array<std::string_view, 5> steer_members{
    "threadId", "thread_id", "runId", "run_id", "message"
};

} // namespace

result<steer_request>
read_steer_request(std::string_view body, const input_limits& limits, memory_budget* budget) {
    document_rules rules;
    rules.max_depth = limits.max_json_depth;
    rules.built = steer_members;
    rules.budget = budget;
    const auto read = read_document(body, rules);
    if (!read) {
        return read.error();
    }
    const boost::json::object* const fields = read->value.if_object();
    if (fields == nullptr) {
        return invalid_input("", "must be a JSON object");
    }
    steer_request out;
    auto thread_id = read_id(*fields, "threadId", limits.max_id_bytes);
    auto run_id = thread_id ? read_id(*fields, "runId", limits.max_id_bytes) : thread_id;
    if (!run_id) {
        return run_id.error();
    }
    if (thread_id->empty()) {
        return invalid_input(
            given_spelling(*fields, "threadId"), "is required and must not be empty"
        );
    }
    out.thread_id = std::move(*thread_id);
    out.run_id = std::move(*run_id);
    const boost::json::value* const given = find_member(*fields, "message");
    if (given == nullptr) {
        return invalid_input("message", "is required and must be a user message");
    }
    auto message = read_message(*given, "message", limits, out.notes);
    if (!message) {
        return message.error();
    }
    if (!*message || (*message)->role != session::role::user) {
        return invalid_input("message.role", "must be \"user\"");
    }
    out.message = std::move(**message);
    if (out.message.id.empty()) {
        return invalid_input("message.id", "is required and must not be empty");
    }
    if (!out.message.subagent_run_id.empty()) {
        return invalid_input("message.subagentRunId", "must be absent");
    }
    return out;
}

} // namespace agui::translator
