#include "translator/ui_message/ui_messages.hpp"

#include "session/base/json_member.hpp"
#include "translator/ui_message/ui_values.hpp"

#include <boost/json/value.hpp>

#include <utility>

namespace agui::translator {

namespace json = boost::json;

namespace {

json::object text_part(std::string_view text) {
    return {{"type", "text"}, {"text", text}, {"state", "done"}};
}

/// The part of a picture, sound or document; empty for one that a page cannot reach.
json::object file_part(const json::object& part) {
    const json::object* const source = if_object_in(part, "source");
    std::string url = source == nullptr ? std::string() : file_url(*source);
    if (url.empty()) {
        return {};
    }
    std::string_view type = string_in(*source, "mimeType");
    if (type.empty()) {
        type = string_in(part, "type");
    }
    json::object out{{"type", "file"}, {"url", std::move(url)}, {"mediaType", type}};
    const json::object* const metadata = if_object_in(part, "metadata");
    if (metadata != nullptr && !string_in(*metadata, "filename").empty()) {
        out["filename"] = string_in(*metadata, "filename");
    }
    return out;
}

json::object data_part(std::string_view type, std::string_view id, json::value data) {
    return {{"type", type}, {"id", id}, {"data", std::move(data)}};
}

} // namespace

json::array ui_content(const json::value& content) {
    json::array parts;
    if (const auto* const text = content.if_string()) {
        if (!text->empty()) {
            parts.push_back(text_part(*text));
        }
        return parts;
    }
    const json::array* const given = content.if_array();
    if (given == nullptr) {
        return parts;
    }
    for (const json::value& each : *given) {
        const json::object* const part = each.if_object();
        if (part == nullptr) {
            continue;
        }
        json::object shown = string_in(*part, "type") == "text"
                                 ? text_part(string_in(*part, "text"))
                                 : file_part(*part);
        if (!shown.empty()) {
            parts.push_back(std::move(shown));
        }
    }
    return parts;
}

void ui_messages::take(const json::object& message) {
    const std::string_view role = string_in(message, "role");
    const bool is_subagents = message.contains("subagentRunId");
    if (role == "user" && !is_subagents) {
        take_user(message);
    } else if (role == "assistant") {
        take_assistant(message);
    } else if (role == "reasoning" && !is_subagents) {
        take_reasoning(message);
    } else if (role == "tool") {
        take_result(message);
    } else if (role == "activity") {
        take_activity(message);
    }
}

void ui_messages::take_user(const json::object& message) {
    answered_ = string_in(message, "id");
    in_answer_ = false;
    const json::value* const content = message.if_contains("content");
    messages_.push_back(json::object{
        {"id", answered_},
        {"role", "user"},
        {"parts", content == nullptr ? json::array() : ui_content(*content)}
    });
}

// A subagent's texts are not the answer, but its calls may wait for the application.
void ui_messages::take_assistant(const json::object& message) {
    const json::array* const calls = if_array_in(message, "toolCalls");
    const bool is_subagents = message.contains("subagentRunId");
    if (is_subagents && calls == nullptr) {
        return;
    }
    if (step_has_answer_ || !in_answer_) {
        begin_step(string_in(message, "id"));
    }
    step_has_answer_ = true;
    if (const json::value* content = message.if_contains("content"); content && !is_subagents) {
        for (json::value& part : ui_content(*content)) {
            answer({}).push_back(std::move(part));
        }
    }
    if (calls != nullptr) {
        for (const json::value& call : *calls) {
            if (const json::object* const one = call.if_object()) {
                add_call(*one);
            }
        }
    }
    take_interrupts(message);
}

void ui_messages::take_reasoning(const json::object& message) {
    if (step_has_answer_ || !in_answer_) {
        begin_step(string_in(message, "id"));
        step_has_answer_ = false;
    }
    answer({}).push_back(json::object{
        {"type", "reasoning"}, {"text", string_in(message, "content")}, {"state", "done"}
    });
}

void ui_messages::take_activity(const json::object& message) {
    const std::string_view id = string_in(message, "id");
    const std::string_view type = string_in(message, "activityType");
    const json::object* const content = if_object_in(message, "content");
    if (content == nullptr) {
        return;
    }
    answer(id).push_back(
        data_part("data-activity", id, json::object{{"activityType", type}, {"content", *content}})
    );
    if (auto file = made_file(type, *content)) {
        answer(id).push_back(std::move(*file));
    }
}

void ui_messages::take_result(const json::object& message) {
    const std::string_view call_id = string_in(message, "toolCallId");
    json::object* const part = call_part(call_id);
    if (part == nullptr) {
        return;
    }
    const json::value* const content = message.if_contains("content");
    const json::value shown = content == nullptr ? json::value("") : *content;
    if (is_denial(message, call_id)) {
        (*part)["state"] = "output-denied";
        (*part)["approval"] = json::object{{"id", call_id}, {"approved", false}};
    } else if (message.contains("error")) {
        (*part)["state"] = "output-error";
        const std::string_view error = string_in(message, "error");
        (*part)["errorText"] = error.empty() ? ui_error(shown) : std::string(error);
    } else {
        (*part)["state"] = "output-available";
        (*part)["output"] = ui_output(shown);
    }
}

void ui_messages::take_interrupts(const json::object& message) {
    const json::object* const metadata = if_object_in(message, "metadata");
    const json::object* const custom = metadata ? if_object_in(*metadata, "custom") : nullptr;
    const json::object* const agui = custom ? if_object_in(*custom, "agui") : nullptr;
    const json::array* const interrupts = agui ? if_array_in(*agui, "interrupts") : nullptr;
    if (interrupts == nullptr) {
        return;
    }
    for (const json::value& each : *interrupts) {
        const json::object* const interrupt = each.if_object();
        if (interrupt == nullptr) {
            continue;
        }
        json::object* const part = call_part(string_in(*interrupt, "toolCallId"));
        if (part != nullptr && string_in(*interrupt, "reason") == "tool_call") {
            (*part)["state"] = "approval-requested";
            (*part)["approval"] = json::object{{"id", string_in(*interrupt, "id")}};
        } else {
            answer({}).push_back(
                data_part("data-interrupt", string_in(*interrupt, "id"), *interrupt)
            );
        }
    }
}

void ui_messages::add_call(const json::object& call) {
    const std::string_view id = string_in(call, "id");
    const json::object* const function = if_object_in(call, "function");
    const std::string_view name = function ? string_in(*function, "name") : std::string_view();
    const std::string_view text = function ? string_in(*function, "arguments") : std::string_view();
    json::object part{
        {"type", "tool-" + std::string(name)}, {"toolCallId", id}, {"state", "input-available"}
    };
    auto input = ui_input(text);
    part["input"] = input ? std::move(*input) : json::value(text);
    json::array& parts = answer({});
    calls_[std::string(id)] = {messages_.size() - 1, parts.size()};
    parts.push_back(std::move(part));
}

void ui_messages::begin_step(std::string_view message_id) {
    answer(message_id).push_back(json::object{{"type", "step-start"}});
}

/// The parts of the assistant message that is being made. `message_id` names it if no user message
/// comes before it.
json::array& ui_messages::answer(std::string_view message_id) {
    if (!in_answer_) {
        in_answer_ = true;
        step_has_answer_ = true;
        const std::string id = answered_.empty() ? std::string(message_id) : answer_id(answered_);
        messages_.push_back(
            json::object{{"id", id}, {"role", "assistant"}, {"parts", json::array()}}
        );
    }
    return messages_.back().get_object()["parts"].get_array();
}

json::object* ui_messages::call_part(std::string_view call_id) {
    const auto found = calls_.find(call_id);
    if (found == calls_.end()) {
        return nullptr;
    }
    json::value& message = messages_[found->second.message];
    return &message.get_object()["parts"].get_array()[found->second.part].get_object();
}

} // namespace agui::translator
