#include "runner/openai/openai_messages.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/json_text.hpp"
#include "runner/openai/openai_media.hpp"
#include "runner/openai/openai_sent_back.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;
using session::message;
using session::role;

/// What Google's documentation gives for calls that Gemini has not made.
constexpr std::string_view signature_placeholder =
    R"(,"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}})";

const std::vector<message>& messages_of(const model_request& request) noexcept {
    static const std::vector<message> none;
    return request.messages == nullptr ? none : *request.messages;
}

/// The parts of a content; a text is one part.
json::array parts_of(const session::content& content) {
    if (const auto* text = std::get_if<std::string>(&content)) {
        return text->empty() ? json::array() : json::array{{{"type", "text"}, {"text", *text}}};
    }
    return std::get<json::array>(content);
}

/// Merges each run of consecutive user messages. Messages that are not for models do not separate
/// them.
std::vector<message> merge_users(const std::vector<message>& given) {
    std::vector<message> merged;
    std::optional<std::size_t> last_user; // The current run of user messages ends with it.
    for (const message& each : given) {
        if (each.role == role::activity || each.role == role::reasoning) {
            merged.push_back(each); // The next answer may have to send its reasoning back.
            continue;
        }
        if (each.role != role::user || !last_user) {
            last_user = each.role == role::user ? std::optional(merged.size()) : std::nullopt;
            merged.push_back(each);
            continue;
        }
        session::content& content = merged[*last_user].content;
        auto* text = std::get_if<std::string>(&content);
        const auto* more = std::get_if<std::string>(&each.content);
        if (text != nullptr && more != nullptr) {
            text->append("\n\n" + *more);
        } else {
            json::array parts = parts_of(content);
            for (json::value& part : parts_of(each.content)) {
                parts.push_back(std::move(part));
            }
            content = std::move(parts);
        }
    }
    return merged;
}

class message_writer {
public:
    message_writer(std::string& out, const model_request& request, const openai_settings& settings)
        : out_(out), request_(request), settings_(settings) {}

    void write();

private:
    void begin_message(std::string_view role_name);
    void user_content(const session::content& content);
    bool part(const json::object& value, std::string_view separator);
    void assistant(const message& value);
    void calls(const message& value, const session::turn_origin* origin);
    void tool_result(const message& value);

    std::string& out_;
    const model_request& request_;
    const openai_settings& settings_;
    bool first_message_ = true;
    std::string reasoning_;  ///< Reasoning of the next answer.
    bool tool_turn_ = false; ///< A tool was called since the last user message.
    const bool thinking_off_ = needs_thinking_off(request_, settings_);
};

void message_writer::begin_message(std::string_view role_name) {
    out_.append(first_message_ ? R"({"role":")" : R"(,{"role":")");
    first_message_ = false;
    out_.append(role_name);
    out_.push_back('"');
}

void message_writer::write() {
    out_.push_back('[');
    // Every server knows "system"; OpenAI's newer models read it as "developer".
    if (!request_.instructions.empty()) {
        begin_message("system");
        out_.append(R"(,"content":)");
        append_json_string(out_, request_.instructions);
        out_.push_back('}');
    }
    const std::vector<message>& given = messages_of(request_);
    std::vector<message> merged;
    if (settings_.merge_roles) {
        merged = merge_users(given);
    }
    for (const message& each : settings_.merge_roles ? merged : given) {
        switch (each.role) {
        case role::developer:
        case role::system:
            begin_message("system");
            out_.append(R"(,"content":)");
            append_json_string(out_, session::text_of(each.content));
            out_.push_back('}');
            break;
        case role::user:
            tool_turn_ = false;
            begin_message("user");
            out_.append(R"(,"content":)");
            user_content(each.content);
            out_.push_back('}');
            break;
        case role::assistant:
            assistant(each);
            reasoning_.clear();
            break;
        case role::tool:
            tool_result(each);
            break;
        case role::reasoning:
            reasoning_ += session::text_of(each.content);
            break;
        case role::activity:
            break; // For people, not for models.
        }
    }
    out_.push_back(']');
}

/// A string, which every server accepts, if the content is only text; otherwise a list of parts.
void message_writer::user_content(const session::content& content) {
    const json::array* const parts = std::get_if<json::array>(&content);
    if (parts == nullptr) {
        append_json_string(out_, std::get<std::string>(content));
        return;
    }
    const std::size_t begin = out_.size();
    std::size_t written = 0;
    bool only_text = true;
    for (const json::value& each : *parts) {
        if (each.is_object() && part(each.get_object(), written == 0 ? "[" : ",")) {
            ++written;
            only_text = only_text && string_in(each.get_object(), "type") == "text";
        }
    }
    if (written == 0 || (written == 1 && only_text)) {
        out_.resize(begin);
        append_json_string(out_, session::text_of(content));
        return;
    }
    out_.push_back(']');
}

bool message_writer::part(const json::object& value, std::string_view separator) {
    const std::string_view type = string_in(value, "type");
    if (type == "text") {
        out_.append(separator);
        out_.append(R"({"type":"text","text":)");
        append_json_string(out_, string_in(value, "text"));
        out_.push_back('}');
        return true;
    }
    return append_media_part(out_, value, separator, settings_);
}

/// A message that only calls tools has `"content":null`: the form in which OpenAI's own server
/// returns such a message, and therefore what most clients echo and most servers are tested with.
/// Some refuse an empty string (empty text blocks of Bedrock, MiniMax), others a missing member.
void message_writer::assistant(const message& value) {
    begin_message("assistant");
    out_.append(R"(,"content":)");
    const std::string text = session::text_of(value.content);
    if (text.empty() && !value.tool_calls.empty()) {
        out_.append("null");
    } else {
        append_json_string(out_, text);
    }
    tool_turn_ = tool_turn_ || !value.tool_calls.empty();
    const session::turn_origin* const origin =
        own_origin(value, settings_, request_.parameters.model);
    if (origin != nullptr) {
        append_sent_back(out_, *origin, reasoning_, tool_turn_ && !thinking_off_);
    }
    if (!value.tool_calls.empty()) {
        calls(value, origin);
    }
    out_.push_back('}');
}

void message_writer::calls(const message& value, const session::turn_origin* origin) {
    out_.append(R"(,"tool_calls":)");
    char separator = '[';
    // Gemini signs the first of parallel calls, and checks that one.
    bool wants_signature = settings_.variant == openai_variant::gemini;
    for (const session::tool_call& call : value.tool_calls) {
        out_.push_back(separator);
        separator = ',';
        out_.append(R"({"id":)");
        append_json_string(out_, call.id);
        out_.append(R"(,"type":"function","function":{"name":)");
        append_json_string(out_, call.name);
        out_.append(R"(,"arguments":)");
        append_json_string(out_, call.arguments);
        out_.push_back('}');
        const bool has_extra = origin != nullptr && append_sent_back(out_, *origin, call);
        if (wants_signature && !has_extra) {
            out_.append(signature_placeholder);
        }
        wants_signature = false;
        out_.push_back('}');
    }
    out_.push_back(']');
}

/// The dialect has no member for a failed call, so the text says so, after the tool's own text.
void message_writer::tool_result(const message& value) {
    begin_message("tool");
    out_.append(R"(,"tool_call_id":)");
    append_json_string(out_, value.tool_call_id);
    out_.append(R"(,"content":)");
    std::string text = session::text_of(value.content);
    if (value.error) {
        if (text == *value.error) {
            text.clear(); // The server's own tools have the same text for both.
        }
        if (!text.empty()) {
            text.append("\n\n");
        }
        text.append("Error: ").append(value.error->empty() ? "the tool failed" : *value.error);
    }
    append_json_string(out_, text);
    out_.push_back('}');
}

} // namespace

bool needs_thinking_off(const model_request& request, const openai_settings& settings) {
    return settings.variant == openai_variant::deepseek &&
           lacks_reasoning(messages_of(request), settings, request.parameters.model);
}

void append_messages(
    std::string& out, const model_request& request, const openai_settings& settings
) {
    message_writer(out, request, settings).write();
}

} // namespace agui::runner
