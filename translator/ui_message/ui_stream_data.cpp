#include "translator/ui_message/ui_stream.hpp"

#include "session/base/json_member.hpp"
#include "session/base/json_patch.hpp"
#include "session/base/json_pointer.hpp"
#include "translator/agui/custom_names.hpp"
#include "translator/ui_message/ui_values.hpp"

#include <cstdint>
#include <utility>

namespace agui::translator {

namespace json = boost::json;

void ui_stream::take_custom(const json::object& fields, std::string& out) {
    const std::string_view name = string_in(fields, "name");
    const json::value* const value = fields.if_contains("value");
    const json::object* const object = value == nullptr ? nullptr : value->if_object();
    if (object != nullptr && is_custom(name, custom_tool_failed)) {
        failed_calls_.emplace(string_in(*object, "toolCallId"));
    } else if (object != nullptr && is_custom(name, custom_run_stopped)) {
        stop_reason_ = string_in(*object, "reason");
    } else if (value != nullptr && !is_custom(name, custom_tool_started) &&
               !is_custom(name, custom_chat_segment) && name != custom_on_interrupt &&
               name != custom_tool_input) {
        begin("data-custom");
        chunk_.member("data", json::object{{"name", name}, {"value", *value}});
        chunk_.raw_member("transient", "true");
        send(out);
    }
}

void ui_stream::take_document(std::string_view type, const json::object& fields, std::string& out) {
    const bool is_state = type.starts_with("STATE_");
    document& changed = documents_[std::string(string_in(fields, "messageId"))];
    if (!is_state) {
        changed.activity_type = string_in(fields, "activityType");
    }
    if (type.ends_with("_SNAPSHOT")) {
        const json::value* const whole = fields.if_contains(is_state ? "snapshot" : "content");
        const json::value* const replace = fields.if_contains("replace");
        const bool keeps = replace != nullptr && replace->is_bool() && !replace->get_bool();
        if (whole != nullptr && !(keeps && !changed.value.is_null())) {
            set_document(changed, *whole);
        }
    } else if (const json::value* const patch = fields.if_contains(is_state ? "delta" : "patch")) {
        json::value value = std::move(changed.value);
        const auto applied = apply_patch(value, *patch);
        changed.value = std::move(value);
        if (applied) {
            set_document(changed, std::move(changed.value));
        }
    }
    const auto* const content = is_state ? nullptr : changed.value.if_object();
    if (content != nullptr && !changed.has_file) {
        if (const auto file = made_file(changed.activity_type, *content)) {
            changed.has_file = true;
            write_part(*file, out);
        }
    }
}

void ui_stream::set_document(document& changed, json::value value) {
    bytes_ -= changed.bytes;
    changed.value = std::move(value);
    changed.bytes = json_size(changed.value, SIZE_MAX);
    bytes_ += changed.bytes;
    changed.changed = true;
}

void ui_stream::write_changes(std::string& out) {
    if (!started_) {
        return;
    }
    for (auto& [id, one] : documents_) {
        if (!one.changed) {
            continue;
        }
        one.changed = false;
        if (id.empty()) {
            send_data("data-state", "state", one.value, out);
        } else {
            send_data(
                "data-activity", id,
                json::object{{"activityType", one.activity_type}, {"content", one.value}}, out
            );
        }
    }
}

void ui_stream::take_subagent(std::string_view step, const json::object& fields, std::string& out) {
    const std::string_view id = string_in(fields, "subagentRunId");
    json::object& shown = subagents_[std::string(id)];
    if (step == "STARTED") {
        for (const std::string_view name : {"name", "description", "parentToolCallId"}) {
            if (const json::value* const value = fields.if_contains(name)) {
                shown[name] = *value;
            }
        }
        shown["status"] = "running";
    } else if (step == "ERROR") {
        shown["status"] = "failed";
        shown["errorText"] = string_in(fields, "message");
    } else {
        const json::object* const outcome = if_object_in(fields, "outcome");
        const bool waits = outcome != nullptr && string_in(*outcome, "type") == "suspended";
        shown["status"] = waits ? "suspended" : "finished";
    }
    send_data("data-subagent", id, shown, out);
}

void ui_stream::take_step(std::string_view step, const json::object& fields, std::string& out) {
    begin("data-step");
    chunk_.member(
        "data",
        json::object{
            {"stepName", string_in(fields, "stepName")},
            {"status", step == "STARTED" ? "running" : "finished"}
        }
    );
    chunk_.raw_member("transient", "true");
    send(out);
}

} // namespace agui::translator
