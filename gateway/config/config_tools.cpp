#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"
#include "session/base/parse_json.hpp"

#include <boost/json/serialize.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

void describe_definition(config_table& table, runner::tool_definition& definition) {
    if (!table.value("name", definition.name)) {
        table.problem("name", "is missing");
    } else if (!is_word(definition.name, "_.-") || definition.name.size() > 128 ||
               definition.name.starts_with("mcp__")) {
        table.problem(
            "name",
            "must be 1 to 128 characters from A-Z a-z 0-9 _ . - and must not begin with mcp__"
        );
    }
    table.value("description", definition.description);
    const bool has_schema = !definition.parameters.is_null();
    std::string text = has_schema ? boost::json::serialize(definition.parameters) : std::string();
    if (table.uses(has_schema) && table.value("parameters", text)) {
        if (auto schema = parse_json(text); schema && schema->is_object()) {
            definition.parameters = std::move(*schema);
        } else {
            table.problem("parameters", "must be the text of a JSON object (a JSON Schema)");
        }
    }
}

void describe_external(config_table& table, external_tool_config& tool) {
    describe_definition(table, tool.definition);
    table.choice("when", tool.always, {{"always", true}, {"advertised", false}});
}

void describe_webhook(config_table& table, webhook_config& tool) {
    describe_definition(table, tool.definition);
    url_value(table, "url", tool.url);
    if (!table.has("url")) {
        table.problem("url", "is missing");
    }
    headers_value(table, tool.headers);
    secret_headers_value(table, tool.secret_headers);
    table.time("timeout_seconds", tool.timeout, 1, 3600);
    table.choice("method", tool.get, {{"POST", false}, {"GET", true}});
    table.value("idempotent", tool.idempotent);
    passed_headers_value(table, tool.pass_headers);
    caller_credentials_value(table, tool.callers);
    if (tool.callers.are_required() && table.has("header_env")) {
        table.problem(
            "header_env", "is the gateway's own, so it is not sent where callers have credentials "
                          "of their own (user_tokens, user_token_from): use headers"
        );
    }
    approval_value(table, tool.approval);
}

} // namespace

void describe_tools(config_table& table, tools_config& tools, session::history_policy& history) {
    using session::on_abandoned;
    using session::on_partial;
    table.choice("on_name_clash", tools.reject_name_clash, {{"ignore", false}, {"reject", true}});
    client_tools_value(table, "client_names", tools.client_names);
    table.choice(
        "on_partial", history.on_partial,
        {{"auto", on_partial::automatic},
         {"wait", on_partial::wait},
         {"continue", on_partial::proceed},
         {"reject", on_partial::reject}}
    );
    table.choice(
        "on_abandoned", history.on_abandoned,
        {{"answer", on_abandoned::answer}, {"reject", on_abandoned::reject}}
    );
    table.time("approval_seconds", history.approval_life, 1, 3650 * day);
    table.number("max_result_bytes", tools.max_result_bytes, 1024, gib);
    table.tables("external", tools.external, describe_external);
    table.tables("webhook", tools.webhooks, describe_webhook);
}

} // namespace agui::gateway
