#include "runner/openai/openai_sent_back.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/json_text.hpp"
#include "runner/openai/tagged_thoughts.hpp"
#include "runner/provider/own_origin.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

namespace agui::runner {

namespace json = boost::json;
using session::message;
using session::role;

namespace {

/// True for the name of a member that holds reasoning, unlike "content" and tags.
bool is_reasoning_member(std::string_view name) noexcept {
    return name == "reasoning_content" || name == "reasoning" || name == "reasoning_text" ||
           name == "thinking";
}

} // namespace

bool lacks_reasoning(const std::vector<const message*>& messages, const model_request& asked) {
    bool tool_turn = false;
    for (const message* const each : messages) {
        if (each->role == role::user) {
            tool_turn = false;
        }
        if (each->role != role::assistant) {
            continue;
        }
        tool_turn = tool_turn || !each->tool_calls.empty();
        const session::turn_origin* const origin = own_origin(*each, asked);
        const bool has_reasoning =
            origin != nullptr && string_in(origin->data, "reasoning") == "reasoning_content";
        if (tool_turn && !has_reasoning) {
            return true;
        }
    }
    return false;
}

// DeepSeek and Kimi refuse a turn with calls without its reasoning, and ignore the reasoning of
// other turns. OpenRouter passes the blocks on to providers that check their signatures (the blocks
// repeat the plain text). Gemini requires its signatures.
void append_sent_back(
    std::string& out, const session::turn_origin& origin, std::string_view reasoning,
    bool with_reasoning
) {
    const json::array* const details = array_in(origin.data, "reasoning_details");
    const std::string_view name = string_in(origin.data, "reasoning");
    if (details != nullptr) {
        out.append(R"(,"reasoning_details":)").append(json::serialize(*details));
    } else if (with_reasoning &&
               (name == "reasoning_content" || (is_reasoning_member(name) && !reasoning.empty()))) {
        out.append(",\"").append(name).append("\":");
        append_json_string(out, reasoning);
    }
    if (const json::object* const extra = object_in(origin.data, "extra_content")) {
        out.append(R"(,"extra_content":)").append(json::serialize(*extra));
    }
}

bool append_thoughts_in_content(
    std::string& out, const session::turn_origin& origin, const std::string& reasoning,
    const std::string& text
) {
    const std::string_view name = string_in(origin.data, "reasoning");
    if (reasoning.empty() || (name != "content" && !is_reasoning_tag(name))) {
        return false;
    }
    if (name != "content") {
        append_json_string(
            out, std::string(name) + "\n" + reasoning + "\n" + closing_tag(name) + "\n\n" + text
        );
        return true;
    }
    json::array parts{
        {{"type", "thinking"}, {"thinking", {{{"type", "text"}, {"text", reasoning}}}}}
    };
    if (!text.empty()) {
        parts.push_back({{"type", "text"}, {"text", text}});
    }
    out.append(json::serialize(parts));
    return true;
}

bool append_sent_back(
    std::string& out, const session::turn_origin& origin, const session::tool_call& call
) {
    bool any = false;
    for (const session::turn_block& block : origin.blocks) {
        const json::object* const data = block.data.if_object();
        const bool its = block.what == session::turn_block::kind::call && block.id == call.id;
        if (its && data != nullptr && object_in(*data, "extra_content") != nullptr) {
            out.append(R"(,"extra_content":)")
                .append(json::serialize(*object_in(*data, "extra_content")));
            any = true;
        }
    }
    return any;
}

} // namespace agui::runner
