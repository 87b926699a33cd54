#include "translator/verifier/verifier_chunks.hpp"

#include "session/base/contains.hpp"
#include "session/base/json_member.hpp"

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>

namespace agui::translator {
namespace {

using json_object = boost::json::object;

constexpr std::array<std::string_view, 15> closing_own_lane{
    "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",   "TOOL_CALL_START",
    "TOOL_CALL_ARGS",     "TOOL_CALL_END",
    "TOOL_CALL_RESULT",   "STATE_SNAPSHOT",
    "STATE_DELTA",        "CUSTOM",
    "STEP_STARTED",       "STEP_FINISHED",
    "SUBAGENT_FINISHED",  "SUBAGENT_ERROR",
    "REASONING_START",
};
constexpr std::array<std::string_view, 4> more_closing_own_lane{
    "REASONING_END", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END"
};
constexpr std::array<std::string_view, 4> closing_all_lanes{
    "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"
};

} // namespace

struct chunk_expander::form {
    std::string_view chunk;
    std::string_view start;
    std::string_view content;
    std::string_view end;
    std::string_view id_key;
    std::string_view missing_id; ///< The rule that an opening chunk without id breaks.
};

namespace {

/// Members of the opener that later chunks may only repeat.
constexpr std::array<std::string_view, 4> fixed_members{
    "role", "name", "toolCallName", "parentMessageId"
};

} // namespace

chunk_expander::expansion chunk_expander::expand(const json_object& event) {
    static constexpr std::array<form, 3> forms{{
        {"TEXT_MESSAGE_CHUNK", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
         "messageId", "C1"},
        {"TOOL_CALL_CHUNK", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "toolCallId", "C2"
        },
        {"REASONING_MESSAGE_CHUNK", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
         "REASONING_MESSAGE_END", "messageId", "C4"},
    }};
    expansion out;
    const std::string_view type = string_in(event, "type");
    const auto kind = std::find_if(forms.begin(), forms.end(), [type](const form& known) {
        return known.chunk == type;
    });
    if (kind == forms.end()) {
        close_for(event, out.events);
        out.events.push_back(event);
        return out;
    }
    const std::string_view id = string_in(event, kind->id_key);
    choice chosen = choose_lane(event, *kind, id);
    if (chosen.wrong) {
        out.wrong = std::move(chosen.wrong);
        return out;
    }
    const auto lane = lanes_.find(chosen.lane);
    if (lane != lanes_.end() && lane->second.kind == &*kind &&
        (id.empty() || id == lane->second.id)) {
        out.wrong = check_agreement(lane->second, event);
    } else {
        out.wrong = open(chosen.lane, *kind, event, out.events);
    }
    if (!out.wrong && event.contains("delta")) {
        out.events.push_back(
            {{"type", kind->content},
             {kind->id_key, lanes_.at(chosen.lane).id},
             {"delta", event.at("delta")}}
        );
    }
    return out;
}

chunk_expander::choice
chunk_expander::choose_lane(const json_object& chunk, const form& kind, std::string_view id) const {
    const std::string tag(string_in(chunk, "subagentRunId"));
    if (!id.empty()) {
        for (const auto& [lane, stream] : lanes_) {
            if (stream.kind != &kind || stream.id != id) {
                continue;
            }
            if (!tag.empty() && tag != lane) {
                return {{}, "C6: " + std::string(id) + " belongs to another subagent"};
            }
            return {lane, {}};
        }
        return {tag, {}};
    }
    const auto parent = lanes_.find("");
    if (!tag.empty() || (parent != lanes_.end() && parent->second.kind == &kind)) {
        return {tag, {}};
    }
    const std::string* only = nullptr;
    for (const auto& [lane, stream] : lanes_) {
        if (stream.kind != &kind) {
            continue;
        }
        if (only != nullptr) {
            return {
                {}, "C7: " + std::string(kind.chunk) + " fits the streams of several subagents"
            };
        }
        only = &lane;
    }
    return {only == nullptr ? std::string() : *only, {}};
}

void chunk_expander::close(lane_map::iterator lane, std::vector<json_object>& out) {
    const pending& stream = lane->second;
    out.push_back({{"type", stream.kind->end}, {stream.kind->id_key, stream.id}});
    lanes_.erase(lane);
}

void chunk_expander::close_for(const json_object& event, std::vector<json_object>& out) {
    const std::string_view type = string_in(event, "type");
    if (contains(closing_all_lanes, type)) {
        while (!lanes_.empty()) {
            close(lanes_.begin(), out);
        }
        return;
    }
    if (contains(closing_own_lane, type) || contains(more_closing_own_lane, type)) {
        if (const auto own = lanes_.find(string_in(event, "subagentRunId")); own != lanes_.end()) {
            close(own, out);
        }
    }
}

violation chunk_expander::open(
    const std::string& lane, const form& kind, const json_object& chunk,
    std::vector<json_object>& out
) {
    const std::string id(string_in(chunk, kind.id_key));
    if (id.empty()) {
        return std::string(kind.missing_id) + ": the first " + std::string(kind.chunk) +
               " of a stream needs " + std::string(kind.id_key);
    }
    const bool is_call = kind.id_key == "toolCallId";
    if (is_call && !chunk.contains("toolCallName")) {
        return "C3: the first TOOL_CALL_CHUNK of " + id + " needs toolCallName";
    }
    if (const auto open_stream = lanes_.find(lane); open_stream != lanes_.end()) {
        close(open_stream, out);
    }
    pending stream{.kind = &kind, .id = id, .opener = {}};
    for (const std::string_view key : fixed_members) {
        if (const auto* value = chunk.if_contains(key)) {
            stream.opener.emplace(key, *value);
        }
    }
    if (kind.chunk == "TEXT_MESSAGE_CHUNK") {
        stream.opener.emplace("role", "assistant"); // Used if the chunk names none.
    }
    json_object start = stream.opener;
    start.emplace("type", kind.start);
    start.emplace(kind.id_key, id);
    if (!lane.empty()) {
        start.emplace("subagentRunId", lane);
    }
    out.push_back(std::move(start));
    lanes_.emplace(lane, std::move(stream));
    return std::nullopt;
}

violation chunk_expander::check_agreement(const pending& stream, const json_object& chunk) {
    for (const std::string_view key : fixed_members) {
        const auto* given = chunk.if_contains(key);
        if (given == nullptr) {
            continue;
        }
        const auto* established = stream.opener.if_contains(key);
        if (established == nullptr || *established != *given) {
            return "C5: " + std::string(key) + " of " + stream.id + " differs from its first chunk";
        }
    }
    return std::nullopt;
}

} // namespace agui::translator
