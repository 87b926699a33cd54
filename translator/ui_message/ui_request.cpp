#include "translator/ui_message/ui_request.hpp"

#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"
#include "translator/ui_message/ui_input_messages.hpp"
#include "translator/ui_message/ui_values.hpp"

#include <boost/json/serialize.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace agui::translator {

namespace json = boost::json;

namespace {

/// The UI messages of a request, in order.
result<std::vector<const json::object*>> given_messages(const json::object& body) {
    std::vector<const json::object*> out;
    const json::value* const one = body.if_contains("message");
    const json::value* const all = body.if_contains("messages");
    if (all == nullptr && one != nullptr && one->is_object()) {
        out.push_back(&one->get_object());
        return out;
    }
    if (all == nullptr || !all->is_array()) {
        return ui_invalid("messages", "must be an array");
    }
    for (std::size_t i = 0; i < all->get_array().size(); ++i) {
        const json::object* const message = all->get_array()[i].if_object();
        if (message == nullptr) {
            return ui_invalid(element("messages", i), "must be an object");
        }
        out.push_back(message);
    }
    return out;
}

const json::object*
find_ui_message(const std::vector<const json::object*>& messages, std::string_view id) {
    for (const json::object* const each : messages) {
        if (!id.empty() && string_in(*each, "id") == id) {
            return each;
        }
    }
    return nullptr;
}

bool is_answer(const json::object& message) { return string_in(message, "role") == "assistant"; }

/// Leaves out the answer that is to be made again, and all after it. Released clients have done so.
void cut_for_regeneration(std::vector<const json::object*>& messages, std::string_view id) {
    if (const json::object* const named = find_ui_message(messages, id)) {
        while (messages.back() != named) {
            messages.pop_back();
        }
    }
    while (!messages.empty() && is_answer(*messages.back())) {
        messages.pop_back();
    }
}

/// The RunAgentInput with the members of the request that it has as well.
json::object
input_of(const json::object& fields, std::string_view thread_id, ui_input_messages& writer) {
    json::object input{{"threadId", thread_id}, {"protocolVersion", "1.1"}};
    for (const std::string_view name : {"tools", "context", "state", "forwardedProps", "resume"}) {
        if (const json::value* const value = fields.if_contains(name)) {
            input[name] = *value;
        }
    }
    if (!writer.resume().empty()) {
        json::value& resume = input["resume"];
        if (!resume.is_array()) {
            resume = json::array();
        }
        for (json::value& entry : writer.resume()) {
            resume.get_array().push_back(std::move(entry));
        }
    }
    input["messages"] = std::move(writer.messages());
    return input;
}

} // namespace

result<ui_request> read_ui_request(
    std::string_view body, std::string_view run_id, std::size_t max_depth, memory_budget* budget
) {
    const auto read = parse_json(body, {.max_depth = max_depth, .budget = budget});
    if (!read) {
        return read.error();
    }
    const json::object* const fields = read->if_object();
    if (fields == nullptr) {
        return ui_invalid({}, "must be a JSON object");
    }
    const auto id = ui_text(*fields, "id", {});
    const auto trigger = ui_text(*fields, "trigger", {});
    const auto message_id = ui_text(*fields, "messageId", {});
    for (const auto* const each : {&id, &trigger, &message_id}) {
        if (!*each) {
            return each->error();
        }
    }
    if (id->empty()) {
        return ui_invalid("id", "is required");
    }
    const bool is_again = *trigger == "regenerate-message";
    if (!is_again && !trigger->empty() && *trigger != "submit-message") {
        return ui_invalid("trigger", "must be submit-message or regenerate-message");
    }
    auto messages = given_messages(*fields);
    if (!messages) {
        return messages.error();
    }
    if (is_again) {
        cut_for_regeneration(*messages, *message_id);
    }
    if (messages->empty()) {
        return ui_invalid("messages", "must not be empty");
    }
    const json::object* continued = is_again ? nullptr : find_ui_message(*messages, *message_id);
    if (continued == nullptr || !is_answer(*continued)) {
        continued = messages->back();
    }
    ui_request out;
    out.thread_id = *id;
    out.start.message_id = is_answer(*continued) ? std::string(string_in(*continued, "id"))
                                                 : answer_id(string_in(*continued, "id"));
    ui_input_messages writer(is_answer(*continued) ? continued : nullptr, out.start);
    for (std::size_t i = 0; i < messages->size(); ++i) {
        const std::string path = element("messages", i) + '.';
        if (auto done = writer.take(*(*messages)[i], path); !done) {
            return done.error();
        }
    }
    json::object input = input_of(*fields, *id, writer);
    input["runId"] = run_id;
    out.body = json::serialize(input);
    return out;
}

std::string ui_path(std::string_view input_path) {
    if (input_path == "threadId") {
        return "id";
    }
    // The messages of the input are others than those of the request.
    return std::string(input_path.substr(0, input_path.starts_with("messages") ? 8 : SIZE_MAX));
}

} // namespace agui::translator
