#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"
#include "runner/openai/tagged_thoughts.hpp"

namespace agui::gateway {

void read_model(config_reader& table, model_config& model) {
    using kind = model_config::provider_kind;
    std::string provider;
    if (!table.read("provider", provider)) {
        table.problem("provider", "is missing");
    } else if (provider == "scripted") {
        model.provider = kind::scripted;
    } else if (provider == "custom") {
        model.provider = kind::custom;
    } else if (provider == "anthropic" || provider == "agui") {
        table.problem("provider", "\"" + provider + "\" is not supported by this version");
    } else if (provider != "openai") {
        table.problem("provider", "must be one of \"openai\", \"scripted\", \"custom\"");
    }
    read_url(table, "base_url", model.base_url);
    table.read("script", model.script);
    if (provider == "openai" && model.base_url.empty() && !table.has("base_url")) {
        table.problem("base_url", "is missing");
    }
    if (provider == "scripted" && model.script.empty()) {
        table.problem("script", "is missing: a file or folder to play");
    }
    if ((provider == "openai" || provider == "custom") && table.has("script")) {
        table.problem("script", "is for provider = \"scripted\"");
    }
    if (table.has("model")) {
        table.read("model", model.parameters.model);
    } else if (provider == "openai") {
        table.problem("model", "is missing");
    }
    read_secret(table, "api_key", model.api_key);
    read_headers(table, model.headers);
    table.read("ca_file", model.ca_file);

    double temperature = 0;
    if (table.read("temperature", temperature, 0, 2)) {
        model.parameters.temperature = temperature;
    }
    std::int64_t tokens = 0;
    if (table.read_number("max_output_tokens", tokens, 1, 1'000'000'000)) {
        model.parameters.max_output_tokens = tokens;
    }
    std::string text;
    if (table.read("tool_choice", text)) {
        model.parameters.tool_choice = runner::tool_choice_from_string(text);
    }
    bool flag = false;
    if (table.read("parallel_tool_calls", flag)) {
        model.parameters.parallel_tool_calls = flag;
    }
    if (table.read("reasoning_effort", text)) {
        model.parameters.reasoning_effort = text;
    }
    if (const auto extra = table.json("extra_body")) {
        model.extra_body = extra->as_object();
    }
    table.read("media_urls", model.media_urls);
    table.read("file_sources", model.file_sources);
    table.read("merge_roles", model.merge_roles);
    using variant = runner::openai_variant;
    table.read_choice(
        "variant", model.variant,
        {{"openai", variant::openai},
         {"deepseek", variant::deepseek},
         {"gemini", variant::gemini},
         {"mistral", variant::mistral}}
    );
    if (table.read("reasoning_tags", model.reasoning_tags) && !model.reasoning_tags.empty() &&
        !runner::is_reasoning_tag(model.reasoning_tags)) {
        table.problem(
            "reasoning_tags",
            "must be a tag as \"<think>\", or \"</think>\" where the prompt holds "
            "the opening one"
        );
    }
    table.read_seconds("connect_seconds", model.connect, 1, 3600);
    table.read_seconds("first_byte_seconds", model.first_byte, 1, day);
    table.read_seconds("first_content_seconds", model.first_content, 1, day);
    table.read_seconds("idle_seconds", model.idle, 1, day);
}

} // namespace agui::gateway
