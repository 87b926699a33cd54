#include "runner/openai/openai_chat.hpp"

#include "runner/base/json_text.hpp"
#include "runner/base/tool_names.hpp"
#include "runner/base/tool_schema.hpp"
#include "runner/openai/openai_messages.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace agui::runner {

namespace {

namespace json = boost::json;

/// The name of the member that limits the answer's length. OpenAI's newer models refuse
/// `max_tokens` (400), and all of them accept `max_completion_tokens`. Several compatible servers
/// silently ignore the latter (Ollama, LM Studio, llama.cpp until 2026), which leaves an answer
/// unlimited, and all know `max_tokens`. So only models with one of OpenAI's names get the newer
/// member. `extra_body` can override this.
std::string_view output_limit_member(std::string_view model) {
    if (const std::size_t slash = model.rfind('/'); slash != std::string_view::npos) {
        model.remove_prefix(slash + 1);
    }
    if (model.starts_with("ft:")) {
        model.remove_prefix(3);
    }
    const bool o_series =
        model.size() >= 2 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9';
    // gpt-oss has open weights, so other servers offer it.
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

    const model_request& request_;
    const openai_settings& settings_;
    const tool_names names_{request_.tools};
    std::string out_;
    bool first_member_ = true;
    const bool thinking_off_ = needs_thinking_off(request_, settings_);
};

/// Begins a top-level member. Returns false if `extra_body` replaces it or, with null, removes it.
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
        append_messages(out_, request_, settings_, names_);
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
    // The shortest text that reads back as the same number. Numbers that JSON cannot express are
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
            append_json_string(out_, names_.sent(tool.name));
            if (!tool.description.empty()) {
                out_.append(R"(,"description":)");
                append_json_string(out_, tool.description);
            }
            out_.append(R"(,"parameters":)");
            // Optional in the dialect, but required by some chat templates of compatible servers.
            out_.append(json::serialize(tool_schema(tool.parameters)));
            out_.append("}}");
        }
        out_.push_back(']');
    }
    // Written here, because servers refuse both if no tools are offered.
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
            append_json_string(out_, names_.sent(request_.parameters.tool_choice->name));
            out_.append("}}");
            break;
        }
    }
    if (request_.parameters.parallel_tool_calls && member("parallel_tool_calls")) {
        out_.append(*request_.parameters.parallel_tool_calls ? "true" : "false");
    }
}

} // namespace

std::string write_openai_request(const model_request& request, const openai_settings& settings) {
    return request_writer(request, settings).write();
}

} // namespace agui::runner
