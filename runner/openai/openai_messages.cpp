#include "runner/openai/openai_messages.hpp"

#include "runner/base/call_ids.hpp"
#include "runner/base/json_members.hpp"
#include "runner/base/json_text.hpp"
#include "runner/openai/openai_media.hpp"
#include "runner/openai/openai_sent_back.hpp"
#include "runner/provider/own_origin.hpp"
#include "runner/provider/request_body.hpp"
#include "runner/provider/role_order.hpp"
#include "session/base/white_space.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;
using session::message;
using session::role;

/// Google's documented placeholder for calls that Gemini did not make.
constexpr std::string_view signature_placeholder =
    R"(,"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}})";

// About what the messages take in the request: a long one that grows is copied each time.
std::size_t size_of(const std::vector<message>& messages) {
    constexpr std::size_t besides_text = 48;
    std::size_t bytes = 0;
    for (const message& each : messages) {
        const auto* const text = std::get_if<std::string>(&each.content);
        bytes += besides_text + (text == nullptr ? 0 : text->size());
    }
    return bytes;
}

role_order order_of(const openai_settings& settings) noexcept {
    const bool strict = settings.merge_roles || settings.variant == openai_variant::mistral;
    return {
        .merges_rows = settings.merge_roles,
        .begins_with_user = strict,
        .answers_results = strict,
        .separates_answers = true
    };
}

call_id_form id_form_of(const openai_settings& settings) noexcept {
    return settings.variant == openai_variant::mistral ? call_id_form::nine : call_id_form::common;
}

/// False for an answer that has only media. Servers refuse a message without content and calls.
bool has_words(const message& value) noexcept {
    return !value.origin || value.origin->end != session::turn_end::media;
}

class message_writer {
public:
    message_writer(
        std::string& out, const model_request& request, const openai_settings& settings,
        const tool_names& names
    )
        : out_(out), request_(request), settings_(settings), names_(names) {}

    void write();

private:
    void begin_message(std::string_view role_name);
    void system(std::string_view text);
    void user_content(const session::content& content);
    bool part(const json::object& value, std::string_view separator);
    void assistant(const message& value);
    void calls(const message& value, const session::turn_origin* origin);
    void tool_result(const message& value);

    std::string& out_;
    const model_request& request_;
    const openai_settings& settings_;
    const tool_names& names_;
    call_ids ids_{id_form_of(settings_)};
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
    out_.reserve(out_.size() + size_of(messages_of(request_)));
    out_.push_back('[');
    // Every server knows "system"; OpenAI's newer models read it as "developer".
    if (!is_blank(request_.instructions)) {
        system(request_.instructions);
    }
    const ordered_messages ordered(messages_of(request_), order_of(settings_));
    for (const message* const each : ordered.list()) {
        switch (each->role) {
        case role::developer:
        case role::system:
            system(session::text_of(each->content));
            break;
        case role::user:
            tool_turn_ = false;
            begin_message("user");
            out_.append(R"(,"content":)");
            user_content(each->content);
            out_.push_back('}');
            break;
        case role::assistant:
            if (has_words(*each)) {
                assistant(*each);
            }
            reasoning_.clear();
            break;
        case role::tool:
            tool_result(*each);
            break;
        case role::reasoning:
            reasoning_ += session::text_of(each->content);
            break;
        case role::activity:
            break; // For people only.
        }
    }
    out_.push_back(']');
}

void message_writer::system(std::string_view text) {
    begin_message("system");
    out_.append(R"(,"content":)");
    append_json_string(out_, text);
    out_.push_back('}');
}

/// Writes a string, which every server accepts, if the content is only text; otherwise a list of
/// parts. Blank text parts are left out, because servers refuse them.
void message_writer::user_content(const session::content& content) {
    std::string_view text = empty_message_text;
    if (const auto* const whole = std::get_if<std::string>(&content)) {
        append_json_string(out_, is_blank(*whole) ? text : *whole);
        return;
    }
    const std::size_t begin = out_.size();
    std::size_t written = 0;
    bool only_text = true;
    for (const json::value& each : std::get<json::array>(content)) {
        if (!each.is_object() || !part(each.get_object(), written == 0 ? "[" : ",")) {
            continue;
        }
        ++written;
        if (string_in(each.get_object(), "type") == "text") {
            text = string_in(each.get_object(), "text");
        } else {
            only_text = false;
        }
    }
    if (written > 1 || !only_text) {
        out_.push_back(']');
        return;
    }
    out_.resize(begin);
    append_json_string(out_, text);
}

bool message_writer::part(const json::object& value, std::string_view separator) {
    if (string_in(value, "type") != "text") {
        return append_media_part(out_, value, separator, settings_);
    }
    const std::string_view text = string_in(value, "text");
    if (is_blank(text)) {
        return false;
    }
    out_.append(separator);
    out_.append(R"({"type":"text","text":)");
    append_json_string(out_, text);
    out_.push_back('}');
    return true;
}

/// A message that only calls tools has `"content":null`. OpenAI's own server returns such messages
/// in this form, so most clients echo it and most servers are tested with it. Some servers refuse
/// an empty string (empty text blocks of Bedrock, MiniMax) or a blank one, others a missing member.
void message_writer::assistant(const message& value) {
    begin_message("assistant");
    out_.append(R"(,"content":)");
    const std::string text = session::text_of(value.content);
    tool_turn_ = tool_turn_ || !value.tool_calls.empty();
    const session::turn_origin* const origin = own_origin(value, request_);
    const bool with_reasoning = tool_turn_ && !thinking_off_;
    const bool written = origin != nullptr && with_reasoning &&
                         append_thoughts_in_content(out_, *origin, reasoning_, text);
    if (!written && is_blank(text) && !value.tool_calls.empty()) {
        out_.append("null");
    } else if (!written) {
        append_json_string(out_, text);
    }
    if (origin != nullptr) {
        append_sent_back(out_, *origin, reasoning_, with_reasoning);
    }
    if (!value.tool_calls.empty()) {
        calls(value, origin);
    }
    out_.push_back('}');
}

void message_writer::calls(const message& value, const session::turn_origin* origin) {
    out_.append(R"(,"tool_calls":)");
    char separator = '[';
    // Gemini signs the first of parallel calls and checks only that one.
    bool wants_signature = settings_.variant == openai_variant::gemini;
    for (const session::tool_call& call : value.tool_calls) {
        out_.push_back(separator);
        separator = ',';
        out_.append(R"({"id":)");
        append_json_string(out_, ids_.sent(call.id, origin != nullptr));
        out_.append(R"(,"type":"function","function":{"name":)");
        append_json_string(out_, names_.sent(call.name));
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

void message_writer::tool_result(const message& value) {
    begin_message("tool");
    out_.append(R"(,"tool_call_id":)");
    append_json_string(out_, ids_.sent(value.tool_call_id));
    out_.append(R"(,"content":)");
    append_json_string(out_, result_text(value));
    out_.push_back('}');
}

} // namespace

bool needs_thinking_off(const model_request& request, const openai_settings& settings) {
    if (settings.variant != openai_variant::deepseek) {
        return false;
    }
    const ordered_messages ordered(messages_of(request), order_of(settings));
    return lacks_reasoning(ordered.list(), request);
}

void append_messages(
    std::string& out, const model_request& request, const openai_settings& settings,
    const tool_names& names
) {
    message_writer(out, request, settings, names).write();
}

} // namespace agui::runner
