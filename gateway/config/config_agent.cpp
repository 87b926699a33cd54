#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"
#include "runner/tools/state_tool.hpp"
#include "session/base/parse_json.hpp"
#include "session/prompt/prompt_template.hpp"
#include "translator/input/input_forwarded.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

namespace {

void describe_limits(config_table& table, agent_config& agent) {
    using runner::loop_action;
    runner::turn_limits& limits = agent.limits;
    table.number("max_calls", limits.max_calls, 0, 1'000'000);
    table.number("max_turn_rounds", limits.max_turn_rounds, 0, 1'000'000);
    table.number("max_tokens", limits.max_tokens, 0, std::int64_t{1} << 53);
    std::optional<loop_action> action;
    if (agent.detects_loops) {
        action = limits.on_loop;
    }
    table.choice(
        "loop_detection", action,
        {{"off", std::optional<loop_action>()},
         {"continue", std::optional(loop_action::go_on)},
         {"warn", std::optional(loop_action::warn)},
         {"terminate", std::optional(loop_action::terminate)}}
    );
    agent.detects_loops = action.has_value();
    limits.on_loop = action.value_or(limits.on_loop);
    // Limited, because loop_detector keeps as many rounds of up to three calls for each run.
    table.number("loop_threshold", limits.loop_threshold, 2, 1000);
}

// The members of forwardedProps that the instructions may name.
void describe_prompt_props(config_table& table, std::vector<std::string>& names) {
    constexpr std::size_t most = 32; // Each is at most session::prompt_value_max in each thread.
    constexpr std::size_t longest = 64;
    table.value("prompt_props", names);
    if (names.size() > most) {
        table.problem("prompt_props", "must hold at most " + std::to_string(most) + " names");
    }
    for (const std::string& name : names) {
        if (!is_word(name, "_-.") || name.size() > longest) {
            table.problem(
                "prompt_props", "must hold names of 1 to 64 characters from A-Z a-z 0-9 _ - ."
            );
        } else if (translator::is_secret_name(name)) {
            table.problem(
                "prompt_props",
                "holds \"" + name + "\", which looks like a secret: the gateway never stores it"
            );
        }
    }
}

void describe_instructions(config_table& table, agent_config& agent) {
    table.value("instructions", agent.instructions);
    std::string_view key = "instructions";
    std::string file;
    if (!table.is_printed() && table.value("instructions_file", file)) {
        key = "instructions_file";
        std::ifstream stream(file, std::ios::binary);
        if (table.has("instructions")) {
            table.problem(key, "cannot be combined with instructions");
        } else if (!stream) {
            table.problem(key, "cannot be read");
        }
        agent.instructions.assign(std::istreambuf_iterator<char>(stream), {});
    }
    describe_prompt_props(table, agent.prompt_props);
    const auto read = session::prompt_template::parse(agent.instructions, agent.prompt_props);
    if (!read) {
        table.problem(key, read.error().detail);
    }
}

void describe_place(config_table& table, std::string_view key, context_place& place) {
    table.choice(
        key, place,
        {{"user", context_place::user},
         {"system", context_place::system},
         {"off", context_place::off}}
    );
}

void describe_prediction(config_table& table, predicted_member& member) {
    const auto describe = [&table](std::string_view key, std::string& value) {
        table.value(key, value);
        if (value.empty()) {
            table.problem(key, "is required");
        }
    };
    describe("tool", member.tool);
    describe("argument", member.argument);
    describe("state_key", member.state_key);
}

void describe_state_tool(config_table& table, agent_config& agent) {
    constexpr std::size_t longest = 65'536; // Told to the model with each request of the agent.
    table.value("state_tool", agent.state_tool);
    if (!table.value("state_schema", agent.state_schema) || agent.state_schema.empty()) {
        return;
    }
    const auto schema = parse_json(agent.state_schema);
    const auto made = runner::make_state_tool(agent.state_schema);
    if (!agent.state_tool) {
        table.problem("state_schema", "needs state_tool = true");
    } else if (!schema || !schema->is_object() || agent.state_schema.size() > longest) {
        table.problem(
            "state_schema", "must be the text of a JSON object (a JSON Schema) of at most " +
                                std::to_string(longest) + " bytes"
        );
    } else if (!made) {
        table.problem("state_schema", made.error().detail);
    } else {
        agent.state_schema = boost::json::serialize(*schema);
    }
}

// True for the schema of the form `items`, or the text of another one.
void describe_reply_schema(config_table& table, agent_config& agent) {
    constexpr std::size_t longest = 65'536; // Sent with each request of the agent.
    const bool is_items = agent.reply == runner::reply_format::items;
    std::string& text = agent.reply_schema_text;
    if (!table.has_text("reply_schema") && !(table.is_printed() && !text.empty())) {
        table.value("reply_schema", agent.reply_schema);
        if (agent.reply_schema && !is_items) {
            table.problem("reply_schema", "needs reply_format = \"items\"");
        }
        return;
    }
    if (!table.value("reply_schema", text)) {
        return;
    }
    const auto schema = parse_json(text);
    if (is_items) {
        table.problem("reply_schema", "must be true or false with reply_format = \"items\"");
    } else if (!schema || !schema->is_object() || text.size() > longest) {
        table.problem(
            "reply_schema",
            "must be true, false or the text of a JSON object (a JSON Schema) of at most " +
                std::to_string(longest) + " bytes"
        );
    } else {
        text = boost::json::serialize(*schema);
    }
}

void describe_title(config_table& table, agent_config& agent) {
    table.choice(
        "title", agent.title,
        {{"first_message", title_source::first_message},
         {"model", title_source::model},
         {"off", title_source::off}}
    );
    const bool by_model = agent.title == title_source::model;
    if (table.is_printed() && !by_model) {
        return;
    }
    table.value("title_model", agent.title_model);
    if (by_model && agent.title_model.empty()) {
        table.problem("title_model", "is required with title = \"model\"");
    } else if (!by_model && !agent.title_model.empty()) {
        table.problem("title_model", "needs title = \"model\"");
    }
}

constexpr std::string_view events_for_tanstack = "tanstack";

void describe_events(config_table& table, agent_config& agent) {
    table.value("events", agent.events);
    for (const std::string& name : agent.events) {
        if (name != events_for_tanstack) {
            table.problem("events", "may have only \"tanstack\"");
            return;
        }
    }
}

} // namespace

void describe_agent(config_table& table, agent_config& agent) {
    if (!table.value("id", agent.id) || !is_word(agent.id, "_.-")) {
        table.problem("id", "must be one or more characters from A-Z a-z 0-9 _ . -");
    }
    table.value("models", agent.models);
    if (agent.models.empty()) {
        table.problem("models", "must name a model of this configuration");
    }
    if (std::set(agent.models.begin(), agent.models.end()).size() != agent.models.size()) {
        table.problem("models", "names a model twice");
    }
    describe_instructions(table, agent);
    table.value("tools", agent.tools);
    client_tools_value(table, "client_tools", agent.client_tools);
    table.value("agents", agent.agents);
    table.value("description", agent.description);
    constexpr std::size_t longest = 4096; // Told with each request of an agent that may call it.
    if (agent.description.size() > longest) {
        table.problem("description", "must have at most " + std::to_string(longest) + " bytes");
    }
    approval_value(table, agent.approval);
    table.number("max_rounds", agent.max_rounds, 1, 10'000);
    table.number("max_parallel_tools", agent.max_parallel_tools, 1, 1000);
    table.value("overridable", agent.overridable);
    describe_agent_parameters(table, agent.parameters);
    using session::client_history;
    client_history sent = agent.client_history.value_or(client_history::automatic);
    if (table.choice(
            "client_history", sent,
            {{"auto", client_history::automatic},
             {"full", client_history::full},
             {"delta", client_history::delta}}
        )) {
        agent.client_history = sent;
    }
    describe_place(table, "context", agent.context);
    describe_place(table, "state", agent.state);
    describe_state_tool(table, agent);
    table.value("legacy_interrupts", agent.legacy_interrupts);
    describe_events(table, agent);
    table.tables("predict_state", agent.predictions, describe_prediction);
    table.choice(
        "tool_list", agent.tool_list,
        {{"auto", std::optional<tool_list>()},
         {"exact", std::optional(tool_list::exact)},
         {"append", std::optional(tool_list::append)}}
    );
    table.choice(
        "instructions_refresh", agent.instructions_refresh,
        {{"append", instructions_refresh::append}, {"rewrite", instructions_refresh::rewrite}}
    );
    using runner::reply_format;
    table.choice(
        "reply_format", agent.reply, {{"text", reply_format::text}, {"items", reply_format::items}}
    );
    describe_reply_schema(table, agent);
    table.choice("prefix_check", agent.prefix_check, {{"log", true}, {"off", false}});
    describe_title(table, agent);
    static constexpr std::string_view settable[] = {
        "model", "temperature", "max_output_tokens", "tool_choice", "reasoning_effort", "top_p",
        "stop",  "seed",        "response_format"
    };
    for (const std::string& name : agent.overridable) {
        if (std::ranges::find(settable, name) == std::end(settable)) {
            table.problem("overridable", "holds \"" + name + "\", which no request can set");
        } else if (name == "response_format" && agent.reply == reply_format::items) {
            table.problem("overridable", "\"response_format\" needs reply_format = \"text\"");
        }
    }
    describe_limits(table, agent);
    table.number("max_history_messages", agent.window.max_messages, 0, 1'000'000);
    table.number("max_history_tokens", agent.window.max_tokens, 0, std::int64_t{1} << 53);
    table.choice("tool_results", agent.delimits_results, {{"plain", false}, {"delimited", true}});
}

bool sends_tanstack(const agent_config& agent) noexcept {
    return std::ranges::find(agent.events, events_for_tanstack) != agent.events.end();
}

} // namespace agui::gateway
