#include "translator/agui/interrupt_json.hpp"

#include "session/base/clock.hpp"
#include "session/base/finite_json.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace agui::translator {

namespace json = boost::json;

namespace {

constexpr std::size_t shown_arguments_max = 64U << 10U;

// assistant-ui shows its buttons for schemas of exactly this form: bare types, and nothing required
// but `approved`.
json::object response_schema() {
    return {
        {"type", "object"},
        {"properties",
         {{"approved", {{"type", "boolean"}}},
          {"reason", {{"type", "string"}}},
          {"editedArgs", {{"type", "object"}}}}},
        {"required", json::array{"approved"}},
    };
}

} // namespace

json::object interrupt_json(const session::approval& asked) {
    const session::input_question* const question = asked.question.get();
    json::object metadata = question == nullptr ? json::object() : question->metadata;
    metadata["kind"] = question == nullptr ? "approval" : "input";
    metadata["toolName"] = asked.tool;
    if (question == nullptr && asked.arguments.size() <= shown_arguments_max) {
        if (auto arguments = session::parse_arguments(asked.arguments)) {
            metadata.emplace("input", *std::move(arguments));
        }
    }
    json::object interrupt{
        {"id", asked.id},
        {"reason", question == nullptr ? "tool_call" : "input_required"},
        {"message",
         question == nullptr ? "Allow the call of " + asked.tool + "?" : question->message},
        {"toolCallId", asked.call_id},
        {"responseSchema", question == nullptr ? response_schema() : question->schema},
        {"expiresAt", iso_time(asked.expires_at)},
        {"metadata", std::move(metadata)},
    };
    if (!asked.subagent_run_id.empty()) {
        interrupt["subagentRunId"] = asked.subagent_run_id;
    }
    return interrupt;
}

json::array interrupts_json(const std::vector<session::approval>& asked, std::size_t bytes_max) {
    json::array shown;
    std::size_t bytes = 0;
    for (const session::approval& each : asked) {
        json::object interrupt = interrupt_json(each);
        bytes += json::serialize(interrupt).size() + 1;
        if (bytes > bytes_max && !shown.empty()) {
            break;
        }
        shown.push_back(std::move(interrupt));
    }
    return shown;
}

void add_interrupts(
    std::vector<session::message>& messages, const std::vector<session::approval>& open
) {
    const auto asking =
        std::find_if(messages.rbegin(), messages.rend(), [](const session::message& each) {
            return !each.tool_calls.empty();
        });
    if (open.empty() || asking == messages.rend()) {
        return;
    }
    json::array interrupts;
    for (const session::approval& each : open) {
        interrupts.push_back(interrupt_json(each));
    }
    if (!asking->metadata) {
        asking->metadata.emplace();
    }
    (*asking->metadata)["custom"] =
        json::object{{"agui", json::object{{"interrupts", std::move(interrupts)}}}};
}

} // namespace agui::translator
