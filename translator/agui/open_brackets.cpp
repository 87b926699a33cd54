#include "translator/agui/open_brackets.hpp"

#include "session/base/json_member.hpp"
#include "translator/agui/event_reader.hpp"

namespace agui::translator {

namespace {

struct bracket_kind {
    std::string_view start_type;
    std::string_view end_type;
    std::string_view id_key;
};

constexpr std::string_view subagent_key = "subagentRunId";
constexpr std::string_view step_key = "stepName";

constexpr bracket_kind kinds[] = {
    {"TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "messageId"},
    {"TOOL_CALL_START", "TOOL_CALL_END", "toolCallId"},
    {"REASONING_START", "REASONING_END", "messageId"},
    {"REASONING_MESSAGE_START", "REASONING_MESSAGE_END", "messageId"},
    {"STEP_STARTED", "STEP_FINISHED", step_key},
    {"SUBAGENT_STARTED", "SUBAGENT_ERROR", subagent_key},
};

} // namespace

void open_brackets::read(const boost::json::object& event) {
    std::string_view type = string_in(event, "type");
    if (type == "SUBAGENT_FINISHED") {
        type = "SUBAGENT_ERROR"; // Either ends it.
    }
    for (const bracket_kind& kind : kinds) {
        if (type == kind.start_type) {
            open_.push_back(
                {kind.end_type, kind.id_key, std::string(string_in(event, kind.id_key)),
                 std::string(string_in(event, subagent_key))}
            );
        } else if (type == kind.end_type) {
            const std::string_view id = string_in(event, kind.id_key);
            const std::string_view owner = string_in(event, subagent_key);
            std::erase_if(open_, [&](const bracket& one) {
                // Only the names of steps are not unique in a run.
                return one.end_type == kind.end_type && one.id == id &&
                       (kind.id_key != step_key || one.subagent_run_id == owner);
            });
        }
    }
}

} // namespace agui::translator
