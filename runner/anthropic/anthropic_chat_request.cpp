#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/anthropic/anthropic_messages.hpp"
#include "runner/anthropic/anthropic_rules.hpp"
#include "runner/base/added_tools.hpp"
#include "runner/base/json_members.hpp"
#include "runner/base/json_text.hpp"
#include "runner/base/tool_names.hpp"
#include "runner/provider/request_body.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace agui::runner {

namespace {

namespace json = boost::json;

std::string_view mark_of(anthropic_cache cache) noexcept {
    switch (cache) {
    case anthropic_cache::off:
        return {};
    case anthropic_cache::five_minutes:
        return R"(,"cache_control":{"type":"ephemeral"})";
    case anthropic_cache::one_hour:
        return R"(,"cache_control":{"type":"ephemeral","ttl":"1h"})";
    }
    return {};
}

std::string_view name_of(anthropic_display display) noexcept {
    switch (display) {
    case anthropic_display::model_default:
        return {};
    case anthropic_display::summarized:
        return "summarized";
    case anthropic_display::omitted:
        return "omitted";
    case anthropic_display::updates:
        return "updates";
    }
    return {};
}

/// True for the effort "none" of other dialects.
bool wants_no_thinking(const model_request& request, const anthropic_settings& settings) {
    return request.parameters.reasoning_effort == "none" && !drops(settings, "reasoning_effort");
}

/// True if the request has a forced choice in place of thinking. A model without forced choices
/// keeps its thinking.
bool has_choice_instead(
    const model_request& request, const anthropic_settings& settings, const anthropic_rules& rules
) {
    const std::optional<tool_choice>& choice = request.parameters.tool_choice;
    return choice && choice->instead_of_thinking && choice->forces_call() && rules.forced_choice &&
           rules.no_thinking && !drops(settings, "tool_choice");
}

/// The member `thinking` of a request.
struct thinking_choice {
    anthropic_thinking kind = anthropic_thinking::model_default; ///< Without a member, if default.
    anthropic_display display = anthropic_display::model_default;
    bool drops_mismatches = false;
    std::string_view refused; ///< The setting that is left out; may be empty.
};

thinking_choice choose_thinking(
    const model_request& request, const anthropic_settings& settings, const anthropic_rules& rules
) {
    thinking_choice choice;
    if (drops(settings, "thinking") || settings.extra_body.contains("thinking")) {
        return choice;
    }
    if (settings.thinking != anthropic_thinking::model_default &&
        has_choice_instead(request, settings, rules)) {
        choice.kind = anthropic_thinking::disabled;
        return choice;
    }
    const bool off = wants_no_thinking(request, settings);
    choice.kind = off ? anthropic_thinking::disabled : settings.thinking;
    if (choice.kind == anthropic_thinking::disabled && !rules.no_thinking) {
        choice.refused = off ? "reasoning_effort" : "thinking";
        choice.kind = rules.between_tools ? anthropic_thinking::between_tools
                                          : anthropic_thinking::model_default;
    }
    // Only the type `adaptive` has the other members.
    if (choice.kind == anthropic_thinking::model_default ||
        choice.kind == anthropic_thinking::adaptive) {
        choice.display = settings.display;
        choice.drops_mismatches =
            settings.mismatch == anthropic_mismatch::drop ||
            (settings.mismatch == anthropic_mismatch::model_default && rules.checks_thoughts);
        if (choice.display != anthropic_display::model_default || choice.drops_mismatches) {
            choice.kind = anthropic_thinking::adaptive;
        }
    }
    return choice;
}

class request_writer {
public:
    request_writer(const model_request& request, const anthropic_settings& settings)
        : request_(request), settings_(settings) {}

    std::string write();

private:
    [[nodiscard]] bool is_dropped(std::string_view setting) const {
        return drops(settings_, setting);
    }
    void leave_out(std::string_view setting) const;
    void thinking();
    void output_config();
    void sampling();
    void number_setting(std::string_view name, const std::optional<double>& value);
    void stop();
    void tool_choice();
    void tools();

    const model_request& request_;
    const model_parameters& given_ = request_.parameters;
    const anthropic_settings& settings_;
    const anthropic_rules rules_ = anthropic_rules_of(given_.model, settings_);
    const tool_names names_{request_.tools};
    const added_tools tools_{request_};
    request_body body_{settings_.extra_body};
    std::string& out_ = body_.text();
};

void request_writer::leave_out(std::string_view setting) const {
    if (settings_.on_left_out) {
        settings_.on_left_out(given_.model, setting);
    }
}

std::string request_writer::write() {
    body_.text_member("model", given_.model);
    const bool has_limit = given_.max_output_tokens && !is_dropped("max_output_tokens");
    body_.number_member(
        "max_tokens", has_limit ? *given_.max_output_tokens : anthropic_output_tokens
    );
    thinking();
    output_config();
    sampling();
    stop();
    if (!tools_.listed().empty()) {
        tool_choice();
    }
    body_.true_or_false("stream", true);
    std::vector<std::string_view> except{"messages", "system"}; // The conversation's own.
    if (has_choice_instead(request_, settings_, rules_)) {
        except.emplace_back("thinking");
    }
    body_.extra_members(except);
    if (!tools_.listed().empty()) {
        tools();
    }
    out_.append(out_.size() == 1 ? "" : ",");
    append_conversation(out_, request_, settings_, names_, tools_, mark_of(settings_.cache));
    return body_.finish();
}

void request_writer::thinking() {
    const thinking_choice choice = choose_thinking(request_, settings_, rules_);
    if (!choice.refused.empty()) {
        leave_out(choice.refused);
    }
    if (choice.kind == anthropic_thinking::model_default || !body_.begin("thinking")) {
        return;
    }
    switch (choice.kind) {
    case anthropic_thinking::model_default:
    case anthropic_thinking::adaptive:
        out_.append(R"({"type":"adaptive")");
        break;
    case anthropic_thinking::between_tools:
        out_.append(R"({"type":"between_tools")");
        break;
    case anthropic_thinking::disabled:
        out_.append(R"({"type":"disabled")");
        break;
    }
    if (const std::string_view display = name_of(choice.display); !display.empty()) {
        out_.append(R"(,"display":")").append(display).append("\"");
    }
    if (choice.drops_mismatches) {
        out_.append(R"(,"block_binding":{"prefix_mismatch_behavior":"drop_block"})");
    }
    out_.push_back('}');
}

void request_writer::output_config() {
    const bool has_effort = given_.reasoning_effort && !is_dropped("reasoning_effort") &&
                            !wants_no_thinking(request_, settings_);
    const bool has_format = given_.format != nullptr && !is_dropped("response_format");
    const bool has_schema = has_format && !given_.format->schema.empty();
    if (has_format && !has_schema) { // The dialect has no form for any JSON object.
        leave_out("response_format");
    }
    if ((!has_effort && !has_schema) || !body_.begin("output_config")) {
        return;
    }
    out_.push_back('{');
    if (has_effort) {
        // The lowest effort of other dialects has another name here.
        out_.append(R"("effort":)");
        append_json_string(
            out_, given_.reasoning_effort == "minimal" ? "low" : *given_.reasoning_effort
        );
    }
    if (has_schema) {
        out_.append(has_effort ? "," : "").append(R"("format":{"type":"json_schema","schema":)");
        out_.append(given_.format->schema).append("}");
    }
    out_.push_back('}');
}

void request_writer::sampling() {
    number_setting("temperature", given_.temperature);
    number_setting("top_p", given_.top_p);
    if (given_.seed && !is_dropped("seed")) {
        leave_out("seed");
    }
}

void request_writer::number_setting(std::string_view name, const std::optional<double>& value) {
    if (!value || is_dropped(name)) {
        return;
    }
    if (rules_.sampling) {
        body_.number_member(name, *value);
    } else if (std::isfinite(*value)) {
        leave_out(name);
    }
}

void request_writer::stop() {
    if (!given_.stop || is_dropped("stop")) {
        return;
    }
    std::vector<std::string> taken;
    std::ranges::copy_if(*given_.stop, std::back_inserter(taken), is_anthropic_stop);
    if (taken.size() < given_.stop->size()) {
        leave_out("stop");
    }
    if (!taken.empty()) {
        body_.list_member("stop_sequences", taken);
    }
}

void request_writer::tool_choice() {
    using mode = runner::tool_choice::mode;
    runner::tool_choice choice;
    bool is_given = given_.tool_choice.has_value() && !is_dropped("tool_choice");
    if (is_given) {
        choice = *given_.tool_choice;
    }
    const json::object* const thinking = object_in(settings_.extra_body, "thinking");
    const bool has_budget = thinking != nullptr && string_in(*thinking, "type") == "enabled" &&
                            !has_choice_instead(request_, settings_, rules_);
    const bool forces = choice.forces_call();
    // Nothing says that a choice may name a tool that is not in the list.
    const bool is_unlisted = choice.kind == mode::named && tools_.is_added(choice.name);
    if (is_unlisted || (forces && (!rules_.forced_choice || has_budget))) {
        leave_out("tool_choice");
        choice = {};
        is_given = false;
    }
    const bool one_at_a_time =
        given_.parallel_tool_calls == false && !is_dropped("parallel_tool_calls");
    if ((!is_given && !one_at_a_time) || !body_.begin("tool_choice")) {
        return;
    }
    switch (choice.kind) {
    case mode::automatic:
        out_.append(R"({"type":"auto")");
        break;
    case mode::none:
        out_.append(R"({"type":"none")");
        break;
    case mode::required:
        out_.append(R"({"type":"any")");
        break;
    case mode::named:
        out_.append(R"({"type":"tool","name":)");
        append_json_string(out_, names_.sent(choice.name));
        break;
    }
    if (one_at_a_time && choice.kind != mode::none) {
        out_.append(R"(,"disable_parallel_tool_use":true)");
    }
    out_.push_back('}');
}

void request_writer::tools() {
    body_.list_member("tools", tools_.listed(), [this](const tool_definition* const& tool) {
        append_definition(out_, *tool, names_, settings_);
        if (tool == tools_.listed().back()) {
            out_.append(mark_of(settings_.cache));
        }
        out_.push_back('}');
    });
}

} // namespace

std::string
write_anthropic_request(const model_request& request, const anthropic_settings& settings) {
    return request_writer(request, settings).write();
}

std::string anthropic_betas(const model_request& request, const anthropic_settings& settings) {
    const thinking_choice thinking =
        choose_thinking(request, settings, anthropic_rules_of(request.parameters.model));
    std::vector<std::string_view> names(settings.betas.begin(), settings.betas.end());
    if (thinking.drops_mismatches) {
        names.emplace_back("thinking-binding-controls-2026-08-01");
    }
    if (thinking.display == anthropic_display::updates) {
        names.emplace_back("thinking-display-updates-2026-08-18");
    }
    if (request.adds_tools) {
        names.emplace_back("inline-tools-2026-09-15");
    }
    std::string value;
    for (auto each = names.begin(); each != names.end(); ++each) {
        if (std::find(names.begin(), each, *each) == each) {
            value.append(value.empty() ? "" : ",").append(*each);
        }
    }
    return value;
}

} // namespace agui::runner
