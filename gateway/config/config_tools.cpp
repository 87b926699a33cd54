#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"
#include "session/base/parse_json.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

void read_definition(config_reader& table, runner::tool_definition& definition) {
    if (!table.read("name", definition.name)) {
        table.problem("name", "is missing");
    } else if (!is_word(definition.name, "_.-") || definition.name.size() > 128 ||
               definition.name.starts_with("mcp__")) {
        table.problem("name", "must be 1 to 128 of A-Z a-z 0-9 _ . - and not begin with mcp__");
    }
    table.read("description", definition.description);
    std::string text;
    if (table.has("parameters") && table.read("parameters", text)) {
        if (auto schema = parse_json(text); schema && schema->is_object()) {
            definition.parameters = std::move(*schema);
        } else {
            table.problem("parameters", "must be the text of a JSON object (a JSON Schema)");
        }
    }
}

void read_external(config_reader table, tools_config& tools) {
    external_tool_config tool;
    read_definition(table, tool.definition);
    table.read_choice("when", tool.always, {{"always", true}, {"advertised", false}});
    table.report_unknown();
    tools.external.push_back(std::move(tool));
}

void read_webhook(config_reader table, tools_config& tools) {
    webhook_config tool;
    read_definition(table, tool.definition);
    read_url(table, "url", tool.url);
    if (!table.has("url")) {
        table.problem("url", "is missing");
    }
    read_headers(table, tool.headers);
    read_secret_headers(table, tool.secret_headers);
    table.read_seconds("timeout_seconds", tool.timeout, 1, 3600);
    table.read_choice("method", tool.get, {{"POST", false}, {"GET", true}});
    table.read("idempotent", tool.idempotent);
    read_passed_headers(table, tool.pass_headers);
    table.report_unknown();
    tools.webhooks.push_back(std::move(tool));
}

} // namespace

void read_tools(config_reader& table, tools_config& tools, session::history_policy& history) {
    using session::on_abandoned;
    using session::on_partial;
    table.read_choice(
        "on_name_clash", tools.reject_name_clash, {{"ignore", false}, {"reject", true}}
    );
    table.read_choice(
        "on_partial", history.on_partial,
        {{"auto", on_partial::automatic},
         {"wait", on_partial::wait},
         {"continue", on_partial::proceed},
         {"reject", on_partial::reject}}
    );
    table.read_choice(
        "on_abandoned", history.on_abandoned,
        {{"answer", on_abandoned::answer}, {"reject", on_abandoned::reject}}
    );
    table.read_number("max_result_bytes", tools.max_result_bytes, 1024, gib);
    for (const toml::table* entry : table.tables("external")) {
        read_external(table.sub(*entry, "external"), tools);
    }
    for (const toml::table* entry : table.tables("webhook")) {
        read_webhook(table.sub(*entry, "webhook"), tools);
    }
}

} // namespace agui::gateway
