#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"
#include "runner/anthropic/anthropic_rules.hpp"
#include "runner/loop/reply_items.hpp"
#include "runner/openai/tagged_thoughts.hpp"
#include "session/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

using kind = model_config::provider_kind;

std::string_view name_of(kind provider) {
    switch (provider) {
    case kind::openai:
        return "openai";
    case kind::anthropic:
        return "anthropic";
    case kind::responses:
        return "responses";
    case kind::scripted:
        return "scripted";
    case kind::custom:
        return "custom";
    }
    return "openai";
}

void describe_provider(config_table& table, model_config& model) {
    std::string provider(name_of(model.provider));
    if (!table.value("provider", provider)) {
        table.problem("provider", "is missing");
    } else if (provider == "scripted") {
        model.provider = kind::scripted;
    } else if (provider == "custom") {
        model.provider = kind::custom;
    } else if (provider == "anthropic") {
        model.provider = kind::anthropic;
    } else if (provider == "responses") {
        model.provider = kind::responses;
    } else if (provider == "agui") {
        table.problem("provider", "\"" + provider + "\" is not supported by this version");
    } else if (provider != "openai") {
        table.problem(
            "provider",
            "must be one of \"openai\", \"anthropic\", \"responses\", \"scripted\", \"custom\""
        );
    }
    const bool served = provider == name_of(model.provider) && is_served(model.provider);
    const bool is_scripted = model.provider == kind::scripted;
    if (table.uses(!is_scripted)) {
        url_value(table, "base_url", model.base_url);
    }
    if (table.uses(is_scripted)) {
        table.value("script", model.script);
        table.choice(
            "dialect", model.dialect,
            {{"openai", kind::openai},
             {"anthropic", kind::anthropic},
             {"responses", kind::responses}}
        );
    }
    if (served && model.base_url.empty() && !table.has("base_url")) {
        table.problem("base_url", "is missing");
    }
    if (provider == "scripted" && model.script.empty()) {
        table.problem("script", "is missing: the file or folder with the scripted answers");
    }
    for (const std::string_view key : {"script", "dialect"}) {
        if ((served || provider == "custom") && table.has(key)) {
            table.problem(key, "is only for provider = \"scripted\"");
        }
    }
    if (!table.value("model", model.parameters.model) && served && !table.has("model")) {
        table.problem("model", "is missing");
    }
}

std::string text_of(const runner::tool_choice& choice) {
    switch (choice.kind) {
    case runner::tool_choice::mode::automatic:
        return "auto";
    case runner::tool_choice::mode::none:
        return "none";
    case runner::tool_choice::mode::required:
        return "required";
    case runner::tool_choice::mode::named:
        return choice.name;
    }
    return "auto";
}

// Parameters that are not set are not printed, and not sent.
template <class T, class Member>
void optional_value(config_table& table, std::optional<T>& value, Member member) {
    T held = value.value_or(T());
    if (table.uses(value.has_value()) && member(held)) {
        value = std::move(held);
    }
}

void describe_parameters(config_table& table, runner::model_parameters& parameters) {
    optional_value(table, parameters.temperature, [&](double& value) {
        return table.value("temperature", value, 0, 2);
    });
    optional_value(table, parameters.max_output_tokens, [&](std::int64_t& value) {
        return table.number("max_output_tokens", value, 1, 1'000'000'000);
    });
    optional_value(table, parameters.tool_choice, [&](runner::tool_choice& value) {
        std::string text = text_of(value);
        const bool is_read = table.value("tool_choice", text);
        value = is_read ? runner::tool_choice_from_string(text) : value;
        return is_read;
    });
    optional_value(table, parameters.parallel_tool_calls, [&](bool& value) {
        return table.value("parallel_tool_calls", value);
    });
    describe_agent_parameters(table, parameters);
}

/// The keys of OpenAI's dialect.
void describe_openai(config_table& table, model_config& model) {
    table.value("merge_roles", model.merge_roles);
    using variant = runner::openai_variant;
    table.choice(
        "variant", model.variant,
        {{"openai", variant::openai},
         {"deepseek", variant::deepseek},
         {"gemini", variant::gemini},
         {"mistral", variant::mistral}}
    );
    if (table.value("reasoning_tags", model.reasoning_tags) && !model.reasoning_tags.empty() &&
        !runner::is_reasoning_tag(model.reasoning_tags)) {
        table.problem(
            "reasoning_tags", "must be a tag such as \"<think>\", or \"</think>\" if the prompt "
                              "already holds the opening tag"
        );
    }
}

bool is_beta_name(const std::string& name) noexcept {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    });
}

template <class Names>
void check_drop(config_table& table, const std::vector<std::string>& drop, const Names& names) {
    for (const std::string& each : drop) {
        if (std::ranges::find(names, each) == names.end()) {
            table.problem("drop", "\"" + each + "\" is no setting that can be dropped");
        }
    }
}

/// The keys of the Messages dialect.
void describe_anthropic(config_table& table, model_config& model) {
    using thinking = runner::anthropic_thinking;
    table.choice(
        "thinking", model.thinking,
        {{"default", thinking::model_default},
         {"adaptive", thinking::adaptive},
         {"between_tools", thinking::between_tools},
         {"disabled", thinking::disabled}}
    );
    using display = runner::anthropic_display;
    table.choice(
        "thinking_display", model.thinking_display,
        {{"default", display::model_default},
         {"summarized", display::summarized},
         {"omitted", display::omitted},
         {"updates", display::updates}}
    );
    using mismatch = runner::anthropic_mismatch;
    table.choice(
        "thinking_mismatch", model.thinking_mismatch,
        {{"default", mismatch::model_default},
         {"drop", mismatch::drop},
         {"refuse", mismatch::refuse}}
    );
    using cache = runner::anthropic_cache;
    table.choice(
        "prompt_cache", model.prompt_cache,
        {{"5m", cache::five_minutes}, {"1h", cache::one_hour}, {"off", cache::off}}
    );
    table.value("eager_input", model.eager_input);
    table.value("tool_addition", model.tool_addition);
    if (table.value("api_version", model.api_version) &&
        !runner::is_anthropic_version(model.api_version)) {
        table.problem("api_version", "must be a date such as \"2023-06-01\"");
    }
    if (table.value("betas", model.betas) && !std::ranges::all_of(model.betas, is_beta_name)) {
        table.problem("betas", "must be names of letters, digits and - _ .");
    }
}

/// The keys of the Responses dialect.
void describe_responses(config_table& table, model_config& model) {
    using summary = runner::responses_summary;
    table.choice(
        "reasoning_summary", model.reasoning_summary,
        {{"default", summary::model_default},
         {"auto", summary::automatic},
         {"concise", summary::concise},
         {"detailed", summary::detailed}}
    );
    table.value("encrypted_reasoning", model.encrypted_reasoning);
}

void check_anthropic(config_table& table, const model_config& model) {
    for (const auto& [name, value] : model.headers) {
        const std::string lower = to_lower(name);
        if (lower == "anthropic-beta") { // It would replace the names that members need.
            table.problem("headers", "the names of anthropic-beta belong to the key betas");
        } else if (lower == "anthropic-version") { // The version decides what the API refuses.
            table.problem("headers", "anthropic-version belongs to the key api_version");
        }
    }
    if (model.thinking_display != runner::anthropic_display::model_default &&
        model.thinking != runner::anthropic_thinking::model_default &&
        model.thinking != runner::anthropic_thinking::adaptive) {
        table.problem("thinking_display", "needs thinking = \"adaptive\" or no thinking key");
    }
}

/// Refuses keys of other dialects, which would have no effect.
void refuse_keys_of_others(config_table& table, kind own) {
    struct dialect_keys {
        kind dialect;
        std::vector<std::string_view> keys;
    };
    static const std::array<dialect_keys, 3> all = {
        dialect_keys{kind::openai, {"merge_roles", "variant", "reasoning_tags"}},
        dialect_keys{
            kind::anthropic,
            {"thinking", "thinking_display", "thinking_mismatch", "prompt_cache", "eager_input",
             "tool_addition", "api_version", "betas"}
        },
        dialect_keys{kind::responses, {"reasoning_summary", "encrypted_reasoning"}},
    };
    for (const dialect_keys& each : all) {
        for (const std::string_view key : each.keys) {
            if (each.dialect != own && table.has(key)) {
                table.problem(
                    key, "is only for provider = \"" + std::string(name_of(each.dialect)) + "\""
                );
            }
        }
    }
}

std::shared_ptr<const runner::answer_format> format_of(const agent_config& agent) {
    std::string schema =
        agent.reply_schema ? std::string(runner::reply_items_schema()) : agent.reply_schema_text;
    if (schema.empty()) {
        return nullptr;
    }
    return std::make_shared<const runner::answer_format>(
        runner::answer_format{.schema = std::move(schema)}
    );
}

} // namespace

bool is_served(kind provider) noexcept {
    return provider == kind::openai || provider == kind::anthropic || provider == kind::responses;
}

kind dialect_of(const model_config& model) noexcept {
    if (model.provider == kind::scripted) {
        return model.dialect;
    }
    return is_served(model.provider) ? model.provider : kind::openai;
}

runner::anthropic_settings anthropic_settings_of(const model_config& model) {
    runner::anthropic_settings settings;
    settings.extra_body = model.extra_body;
    settings.media_urls = model.media_urls;
    settings.file_sources = model.file_sources;
    settings.thinking = model.thinking;
    settings.display = model.thinking_display;
    settings.mismatch = model.thinking_mismatch;
    settings.cache = model.prompt_cache;
    settings.eager_input = model.eager_input;
    settings.tool_addition = model.tool_addition;
    settings.api_version = model.api_version;
    settings.betas = model.betas;
    settings.drop = model.drop;
    return settings;
}

std::vector<runner::anthropic_refusal>
refusals_of(const model_config& model, const runner::model_parameters& parameters) {
    const kind dialect = dialect_of(model);
    if (dialect == kind::anthropic) {
        return runner::anthropic_refusals(parameters, anthropic_settings_of(model));
    }
    std::vector<runner::anthropic_refusal> all;
    if (dialect == kind::responses) {
        for (const std::string_view setting : runner::responses_refusals(parameters, model.drop)) {
            const std::string name(setting);
            all.push_back({name, "the Responses dialect has no " + name});
        }
    }
    return all;
}

runner::model_parameters parameters_of(const agent_config& agent, const model_config& model) {
    runner::model_parameters merged = model.parameters;
    const runner::model_parameters& own = agent.parameters;
    const auto take = [](const auto& from, auto& to) {
        to = from ? from : to;
    };
    take(own.top_p, merged.top_p);
    take(own.stop, merged.stop);
    take(own.seed, merged.seed);
    take(own.reasoning_effort, merged.reasoning_effort);
    merged.format = format_of(agent);
    return merged;
}

void describe_agent_parameters(config_table& table, runner::model_parameters& parameters) {
    optional_value(table, parameters.reasoning_effort, [&](std::string& value) {
        return table.value("reasoning_effort", value);
    });
    optional_value(table, parameters.top_p, [&](double& value) {
        return table.value("top_p", value, 0, 1);
    });
    optional_value(table, parameters.stop, [&](std::vector<std::string>& value) {
        const bool is_read = table.value("stop", value);
        if (is_read && !runner::is_valid_stop(value)) {
            table.problem("stop", "must hold at most 16 texts of 1 to 256 bytes");
        }
        return is_read;
    });
    optional_value(table, parameters.seed, [&](std::int64_t& value) {
        return table.number("seed", value, INT64_MIN, INT64_MAX);
    });
}

void describe_model(config_table& table, model_config& model) {
    describe_provider(table, model);
    secret_value(table, "api_key", model.api_key);
    headers_value(table, model.headers);
    if (table.uses(!model.ca_file.empty())) {
        table.value("ca_file", model.ca_file);
    }
    describe_parameters(table, model.parameters);
    table.value("extra_body", model.extra_body);
    table.value("media_urls", model.media_urls);
    table.value("file_sources", model.file_sources);
    const kind dialect = dialect_of(model);
    const bool is_anthropic = dialect == kind::anthropic;
    const bool is_responses = dialect == kind::responses;
    if (table.uses(dialect == kind::openai)) {
        describe_openai(table, model);
    }
    if (table.uses(is_anthropic)) {
        describe_anthropic(table, model);
    }
    if (table.uses(is_responses)) {
        describe_responses(table, model);
    }
    if (table.uses(is_anthropic || is_responses)) {
        table.value("drop", model.drop);
    }
    if (!table.is_printed()) {
        refuse_keys_of_others(table, dialect);
    }
    if (is_anthropic && !table.is_printed()) {
        check_anthropic(table, model);
    }
    if (is_anthropic) {
        check_drop(table, model.drop, runner::anthropic_setting_names);
    } else if (is_responses) {
        check_drop(table, model.drop, runner::responses_missing_settings);
    } else if (table.has("drop")) {
        table.problem("drop", "is only for provider = \"anthropic\" or \"responses\"");
    }
    // A setting that the model refuses would end each of its runs.
    if (!table.is_printed()) {
        for (const runner::anthropic_refusal& each : refusals_of(model, model.parameters)) {
            table.problem(each.setting, each.why);
        }
    }
    table.time("connect_seconds", model.connect, 1, 3600);
    table.time("first_byte_seconds", model.first_byte, 1, day);
    table.time("first_content_seconds", model.first_content, 1, day);
    table.time("idle_seconds", model.idle, 1, day);
    describe_metering(table, model.metering);
    // Limited, because a circuit keeps the time of each failure.
    table.number("circuit_failures", model.circuit.failures, 0, 1000);
    table.time("circuit_window_seconds", model.circuit.window, 1, day);
    table.time("circuit_open_seconds", model.circuit.pause, 1, day);
}

} // namespace agui::gateway
