#include "runner/openai/openai_chat.hpp"

#include "runner/base/tool_names.hpp"
#include "runner/openai/openai_messages.hpp"
#include "runner/provider/request_body.hpp"

#include <string>
#include <string_view>

namespace agui::runner {

namespace {

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
    void parameters();
    void tools();

    const model_request& request_;
    const openai_settings& settings_;
    const tool_names names_{request_.tools};
    request_body body_{settings_.extra_body};
    const bool thinking_off_ = needs_thinking_off(request_, settings_);
};

std::string request_writer::write() {
    body_.text_member("model", request_.parameters.model);
    if (body_.begin("messages")) {
        append_messages(body_.text(), request_, settings_, names_);
    }
    if (request_.tools != nullptr && !request_.tools->empty()) {
        tools();
    }
    parameters();
    body_.true_or_false("stream", true);
    body_.raw_member("stream_options", R"({"include_usage":true})");
    if (thinking_off_) {
        body_.begin_anyway("thinking");
        body_.text().append(R"({"type":"disabled"})");
        body_.extra_members({"thinking", "reasoning_effort"});
    } else {
        body_.extra_members();
    }
    return body_.finish();
}

void request_writer::parameters() {
    const model_parameters& given = request_.parameters;
    body_.number_member("temperature", given.temperature);
    body_.number_member(output_limit_member(given.model), given.max_output_tokens);
    body_.number_member("top_p", given.top_p);
    if (given.stop && !given.stop->empty()) {
        body_.list_member("stop", *given.stop);
    }
    body_.number_member("seed", given.seed);
    if (given.reasoning_effort && !thinking_off_) {
        body_.text_member("reasoning_effort", *given.reasoning_effort);
    }
    if (given.format != nullptr && body_.begin("response_format")) {
        append_answer_format(body_.text(), *given.format, R"("json_schema":{)", "}");
    }
}

void request_writer::tools() {
    std::string& out = body_.text();
    body_.list_member("tools", *request_.tools, [&](const tool_definition& tool) {
        out.append(R"({"type":"function","function":{)");
        // The schema is optional in the dialect, but required by some chat templates of compatible
        // servers.
        append_tool(out, tool, names_, "parameters");
        out.append("}}");
    });
    // Written here, because servers refuse both if no tools are offered.
    if (request_.parameters.tool_choice && body_.begin("tool_choice")) {
        append_tool_choice(out, *request_.parameters.tool_choice, names_, R"("function":{)", "}");
    }
    if (request_.parameters.parallel_tool_calls) {
        body_.true_or_false("parallel_tool_calls", *request_.parameters.parallel_tool_calls);
    }
}

} // namespace

std::string write_openai_request(const model_request& request, const openai_settings& settings) {
    return request_writer(request, settings).write();
}

} // namespace agui::runner
