#include "runner/base/json_text.hpp"
#include "runner/base/short_hash.hpp"
#include "runner/base/tool_names.hpp"
#include "runner/provider/request_body.hpp"
#include "runner/responses/responses_chat.hpp"
#include "runner/responses/responses_input.hpp"
#include "session/base/contains.hpp"
#include "session/base/white_space.hpp"

#include <string_view>

namespace agui::runner {

namespace {

// The server's limit of prompt_cache_key.
constexpr std::size_t cache_key_bytes_max = 64;

std::string_view name_of(responses_summary summary) noexcept {
    switch (summary) {
    case responses_summary::model_default:
        return {};
    case responses_summary::automatic:
        return "auto";
    case responses_summary::concise:
        return "concise";
    case responses_summary::detailed:
        return "detailed";
    }
    return {};
}

class request_writer {
public:
    request_writer(const model_request& request, const responses_settings& settings)
        : request_(request), settings_(settings) {}

    std::string write();

private:
    void parameters();
    void reasoning();
    void cache_key();
    void tools();

    const model_request& request_;
    const model_parameters& given_ = request_.parameters;
    const responses_settings& settings_;
    const tool_names names_{request_.tools};
    request_body body_{settings_.extra_body};
    std::string& out_ = body_.text();
};

std::string request_writer::write() {
    body_.text_member("model", given_.model);
    body_.true_or_false("store", false);
    body_.true_or_false("stream", true);
    body_.raw_member("stream_options", R"({"include_obfuscation":false})");
    if (settings_.encrypted_reasoning) {
        body_.raw_member("include", R"(["reasoning.encrypted_content"])");
    }
    cache_key();
    parameters();
    if (request_.tools != nullptr && !request_.tools->empty()) {
        tools();
    }
    body_.extra_members({"input", "instructions"}); // These two are the conversation's own.
    if (!is_blank(request_.instructions)) {
        body_.begin_anyway("instructions");
        append_json_string(out_, request_.instructions);
    }
    body_.begin_anyway("input");
    append_input(out_, request_, settings_, names_);
    return body_.finish();
}

void request_writer::parameters() {
    if (settings_.on_left_out) {
        for (const std::string_view setting : responses_refusals(given_, settings_.drop)) {
            settings_.on_left_out(given_.model, setting);
        }
    }
    body_.number_member("temperature", given_.temperature);
    body_.number_member("top_p", given_.top_p);
    body_.number_member("max_output_tokens", given_.max_output_tokens);
    reasoning();
    if (given_.format != nullptr && body_.begin("text")) {
        out_.append(R"({"format":)");
        append_answer_format(out_, *given_.format);
        out_.push_back('}');
    }
}

void request_writer::reasoning() {
    const std::string_view summary = name_of(settings_.summary);
    if ((!given_.reasoning_effort && summary.empty()) || !body_.begin("reasoning")) {
        return;
    }
    out_.push_back('{');
    if (given_.reasoning_effort) {
        out_.append(R"("effort":)");
        append_json_string(out_, *given_.reasoning_effort);
    }
    if (!summary.empty()) {
        out_.append(given_.reasoning_effort ? "," : "");
        out_.append(R"("summary":")").append(summary).append("\"");
    }
    out_.push_back('}');
}

/// Requests of one thread go to the server that has its beginning in the cache.
void request_writer::cache_key() {
    const std::string_view thread = request_.thread;
    if (!thread.empty()) {
        const bool fits = thread.size() <= cache_key_bytes_max;
        body_.text_member(
            "prompt_cache_key", fits ? std::string(thread) : "thread_" + short_hash(thread, 12)
        );
    }
}

void request_writer::tools() {
    // Here, because servers refuse the first two if no tools are offered.
    if (given_.tool_choice && body_.begin("tool_choice")) {
        append_tool_choice(out_, *given_.tool_choice, names_);
    }
    if (given_.parallel_tool_calls) {
        body_.true_or_false("parallel_tool_calls", *given_.parallel_tool_calls);
    }
    body_.list_member("tools", *request_.tools, [this](const tool_definition& tool) {
        out_.append(R"({"type":"function",)");
        append_tool(out_, tool, names_, "parameters");
        // Without it, the server refuses schemas that its strict form cannot express.
        out_.append(R"(,"strict":false})");
    });
}

} // namespace

std::vector<std::string_view>
responses_refusals(const model_parameters& parameters, const std::vector<std::string>& drop) {
    const auto is_dropped = [&drop](std::string_view setting) {
        return contains(drop, setting);
    };
    std::vector<std::string_view> all;
    if (parameters.stop && !parameters.stop->empty() && !is_dropped("stop")) {
        all.emplace_back("stop");
    }
    if (parameters.seed && !is_dropped("seed")) {
        all.emplace_back("seed");
    }
    return all;
}

std::string
write_responses_request(const model_request& request, const responses_settings& settings) {
    return request_writer(request, settings).write();
}

} // namespace agui::runner
