#include "runner/openai/openai_chat.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/json_text.hpp"
#include "runner/openai/openai_media.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

namespace agui::runner {

namespace {

namespace json = boost::json;
using session::message;
using session::role;

/// What Google's documentation gives for calls that Gemini has not made.
constexpr std::string_view signature_placeholder =
    R"(,"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}})";

/// The name of the member that limits the answer's length. OpenAI's newer models refuse
/// `max_tokens` (400) and all of them take `max_completion_tokens`; several compatible servers
/// silently ignore the latter (Ollama, LM Studio, llama.cpp until 2026), which leaves an answer
/// unlimited, and all know `max_tokens`. So the newer name goes only to models with a name of
/// OpenAI's. `extra_body` can override this.
std::string_view output_limit_member(std::string_view model) {
    if (const std::size_t slash = model.rfind('/'); slash != std::string_view::npos) {
        model.remove_prefix(slash + 1);
    }
    if (model.starts_with("ft:")) {
        model.remove_prefix(3);
    }
    const bool o_series =
        model.size() >= 2 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9';
    // gpt-oss has open weights: others serve it.
    const bool gpt = model.starts_with("gpt-") && !model.starts_with("gpt-oss");
    return o_series || gpt || model.starts_with("chatgpt-") ? "max_completion_tokens"
                                                            : "max_tokens";
}

class request_writer {
public:
    request_writer(const model_request& request, const openai_settings& settings)
        : request_(request), settings_(settings) {}

    std::string write();

private:
    bool member(std::string_view name);
    void string_member(std::string_view name, std::string_view value);
    void parameters();
    void tools();
    void messages();
    void begin_message(std::string_view role_name);
    void user_content(const session::content& content);
    bool part(const json::object& value, std::string_view separator);
    void assistant(const message& value);
    [[nodiscard]] const session::turn_origin* own_origin(const message& value) const noexcept;
    [[nodiscard]] bool lacks_reasoning() const;
    void sent_back(const session::turn_origin& origin);
    [[nodiscard]] bool
    sent_back(const session::turn_origin& origin, const session::tool_call& call);
    void tool_result(const message& value);

    const model_request& request_;
    const openai_settings& settings_;
    std::string out_;
    bool first_member_ = true;
    bool first_message_ = true;
    std::string reasoning_;  ///< Reasoning of the next answer.
    bool tool_turn_ = false; ///< A tool was called since the last user message.
    /// The server would refuse the messages if it were to think about them.
    const bool thinking_off_ = settings_.variant == openai_variant::deepseek && lacks_reasoning();
};

/// Begins a top-level member; false if `extra_body` replaces or, with null, removes it.
bool request_writer::member(std::string_view name) {
    if (settings_.extra_body.contains(name)) {
        return false;
    }
    if (!first_member_) {
        out_.push_back(',');
    }
    first_member_ = false;
    append_json_string(out_, name);
    out_.push_back(':');
    return true;
}

void request_writer::string_member(std::string_view name, std::string_view value) {
    if (member(name)) {
        append_json_string(out_, value);
    }
}

std::string request_writer::write() {
    out_.push_back('{');
    string_member("model", request_.parameters.model);
    if (member("messages")) {
        messages();
    }
    if (request_.tools != nullptr && !request_.tools->empty()) {
        tools();
    }
    parameters();
    if (!request_.answer_schema.empty() && member("response_format")) {
        out_.append(R"({"type":"json_schema","json_schema":{"name":"reply","strict":true,"schema":)"
        );
        out_.append(request_.answer_schema).append("}}");
    }
    if (member("stream")) {
        out_.append("true");
    }
    if (member("stream_options")) {
        out_.append(R"({"include_usage":true})");
    }
    if (thinking_off_) {
        out_.append(R"(,"thinking":{"type":"disabled"})");
    }
    for (const auto& [name, value] : settings_.extra_body) {
        if (value.is_null() ||
            (thinking_off_ && (name == "thinking" || name == "reasoning_effort"))) {
            continue;
        }
        if (!first_member_) {
            out_.push_back(',');
        }
        first_member_ = false;
        append_json_string(out_, std::string_view(name.data(), name.size()));
        out_.push_back(':');
        out_.append(json::serialize(value));
    }
    out_.push_back('}');
    return std::move(out_);
}

void request_writer::parameters() {
    const model_parameters& given = request_.parameters;
    // The shortest text that reads back as the same number. A number that JSON cannot express is
    // left out.
    if (given.temperature && std::isfinite(*given.temperature) && member("temperature")) {
        std::array<char, 32> digits{};
        const auto end =
            std::to_chars(digits.data(), digits.data() + digits.size(), *given.temperature);
        out_.append(digits.data(), end.ptr);
    }
    if (given.max_output_tokens && member(output_limit_member(given.model))) {
        out_.append(std::to_string(*given.max_output_tokens));
    }
    if (given.reasoning_effort && !thinking_off_) {
        string_member("reasoning_effort", *given.reasoning_effort);
    }
}

void request_writer::tools() {
    if (member("tools")) {
        char separator = '[';
        for (const tool_definition& tool : *request_.tools) {
            out_.push_back(separator);
            separator = ',';
            out_.append(R"({"type":"function","function":{"name":)");
            append_json_string(out_, tool.name);
            if (!tool.description.empty()) {
                out_.append(R"(,"description":)");
                append_json_string(out_, tool.description);
            }
            out_.append(R"(,"parameters":)");
            // Optional in the dialect, but not in every chat template of compatible servers.
            out_.append(
                tool.parameters.is_null() ? R"({"type":"object","properties":{}})"
                                          : json::serialize(tool.parameters)
            );
            out_.append("}}");
        }
        out_.push_back(']');
    }
    // Both are refused by servers when no tools are offered, so they are written here.
    if (request_.parameters.tool_choice && member("tool_choice")) {
        switch (request_.parameters.tool_choice->kind) {
        case tool_choice::mode::automatic:
            out_.append(R"("auto")");
            break;
        case tool_choice::mode::none:
            out_.append(R"("none")");
            break;
        case tool_choice::mode::required:
            out_.append(R"("required")");
            break;
        case tool_choice::mode::named:
            out_.append(R"({"type":"function","function":{"name":)");
            append_json_string(out_, request_.parameters.tool_choice->name);
            out_.append("}}");
            break;
        }
    }
    if (request_.parameters.parallel_tool_calls && member("parallel_tool_calls")) {
        out_.append(*request_.parameters.parallel_tool_calls ? "true" : "false");
    }
}

void request_writer::begin_message(std::string_view role_name) {
    out_.append(first_message_ ? R"({"role":")" : R"(,{"role":")");
    first_message_ = false;
    out_.append(role_name);
    out_.push_back('"');
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

void request_writer::messages() {
    out_.push_back('[');
    // Every server knows "system"; OpenAI's newer models read it as "developer".
    if (!request_.instructions.empty()) {
        begin_message("system");
        out_.append(R"(,"content":)");
        append_json_string(out_, request_.instructions);
        out_.push_back('}');
    }
    static const std::vector<message> none;
    const std::vector<message>& given = request_.messages == nullptr ? none : *request_.messages;
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
void request_writer::user_content(const session::content& content) {
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

bool request_writer::part(const json::object& value, std::string_view separator) {
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
void request_writer::assistant(const message& value) {
    begin_message("assistant");
    out_.append(R"(,"content":)");
    const std::string text = session::text_of(value.content);
    if (text.empty() && !value.tool_calls.empty()) {
        out_.append("null");
    } else {
        append_json_string(out_, text);
    }
    tool_turn_ = tool_turn_ || !value.tool_calls.empty();
    const session::turn_origin* const origin = own_origin(value);
    if (origin != nullptr) {
        sent_back(*origin);
    }
    if (!value.tool_calls.empty()) {
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
            const bool has_extra = origin != nullptr && sent_back(*origin, call);
            if (wants_signature && !has_extra) {
                out_.append(signature_placeholder);
            }
            wants_signature = false;
            out_.push_back('}');
        }
        out_.push_back(']');
    }
    out_.push_back('}');
}

/// Null if the answer is not from this model, or nothing was noted about it.
const session::turn_origin* request_writer::own_origin(const message& value) const noexcept {
    const session::turn_origin* const origin = value.origin.get();
    const bool ours = origin != nullptr && !settings_.name.empty() &&
                      origin->provider == settings_.name &&
                      origin->model == request_.parameters.model;
    return ours ? origin : nullptr;
}

/// True if an answer after a user turn's first call has no `reasoning_content` to be sent back.
bool request_writer::lacks_reasoning() const {
    bool tool_turn = false;
    static const std::vector<message> none;
    for (const message& each : request_.messages == nullptr ? none : *request_.messages) {
        if (each.role == role::user) {
            tool_turn = false;
        }
        if (each.role != role::assistant) {
            continue;
        }
        tool_turn = tool_turn || !each.tool_calls.empty();
        const session::turn_origin* const origin = own_origin(each);
        const bool has_reasoning =
            origin != nullptr && string_in(origin->data, "reasoning") == "reasoning_content";
        if (tool_turn && !has_reasoning) {
            return true;
        }
    }
    return false;
}

/// DeepSeek and Kimi refuse a turn with calls without its reasoning; the reasoning of other turns
/// is ignored. OpenRouter passes the blocks on to providers that check their signatures (they
/// repeat the plain text), Gemini requires its signatures.
void request_writer::sent_back(const session::turn_origin& origin) {
    const json::array* const details = array_in(origin.data, "reasoning_details");
    const std::string_view name = string_in(origin.data, "reasoning");
    if (details != nullptr) {
        out_.append(R"(,"reasoning_details":)").append(json::serialize(*details));
    } else if (tool_turn_ && !thinking_off_ &&
               (name == "reasoning_content" || (name == "reasoning" && !reasoning_.empty()))) {
        out_.append(",\"").append(name).append("\":");
        append_json_string(out_, reasoning_);
    }
    if (const json::object* const extra = object_in(origin.data, "extra_content")) {
        out_.append(R"(,"extra_content":)").append(json::serialize(*extra));
    }
}

/// False if the call has nothing to be sent back.
bool request_writer::sent_back(const session::turn_origin& origin, const session::tool_call& call) {
    bool any = false;
    for (const session::turn_block& block : origin.blocks) {
        const json::object* const data = block.data.if_object();
        const bool its = block.what == session::turn_block::kind::call && block.id == call.id;
        if (its && data != nullptr && object_in(*data, "extra_content") != nullptr) {
            out_.append(R"(,"extra_content":)")
                .append(json::serialize(*object_in(*data, "extra_content")));
            any = true;
        }
    }
    return any;
}

/// The dialect has no member for a failed call, so the text says so, after the tool's own text.
void request_writer::tool_result(const message& value) {
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

std::string write_openai_request(const model_request& request, const openai_settings& settings) {
    return request_writer(request, settings).write();
}

} // namespace agui::runner
