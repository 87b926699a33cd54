#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace agui::gateway {

void read_agent(config_reader& table, agent_config& agent) {
    if (!table.read("id", agent.id) || !is_word(agent.id, "_.-")) {
        table.problem("id", "must be one or more of A-Z a-z 0-9 _ . -");
    }
    std::vector<std::string> models;
    table.read("models", models);
    if (models.empty()) {
        table.problem("models", "must name a model of this configuration");
    } else {
        agent.model = models.front();
    }
    if (models.size() > 1) {
        table.problem("models", "more than one model is not supported by this version");
    }
    table.read("instructions", agent.instructions);
    std::string file;
    if (table.read("instructions_file", file)) {
        std::ifstream stream(file, std::ios::binary);
        if (table.has("instructions")) {
            table.problem("instructions_file", "excludes instructions");
        } else if (!stream) {
            table.problem("instructions_file", "cannot be read");
        }
        agent.instructions.assign(std::istreambuf_iterator<char>(stream), {});
    }
    table.read("tools", agent.tools);
    table.read_number("max_rounds", agent.max_rounds, 1, 10'000);
    table.read_number("max_parallel_tools", agent.max_parallel_tools, 1, 1000);
    table.read("overridable", agent.overridable);
    if (table.has("client_history")) {
        using session::client_history;
        table.read_choice(
            "client_history", agent.client_history.emplace(),
            {{"auto", client_history::automatic},
             {"full", client_history::full},
             {"delta", client_history::delta}}
        );
    }
    table.read_choice(
        "context", agent.context,
        {{"user", context_place::user},
         {"system", context_place::system},
         {"off", context_place::off}}
    );
    table.read_choice("title", agent.titles, {{"first_message", true}, {"off", false}});
    static constexpr std::string_view settable[] = {
        "model", "temperature", "max_output_tokens", "tool_choice", "reasoning_effort"
    };
    for (const std::string& name : agent.overridable) {
        if (std::ranges::find(settable, name) == std::end(settable)) {
            table.problem("overridable", "holds \"" + name + "\", which no request can set");
        }
    }
    bool supported = true;
    table.read_choice(
        "loop_detection", supported,
        {{"off", true}, {"warn", false}, {"continue", false}, {"terminate", false}}
    );
    if (!supported) {
        table.problem("loop_detection", "only \"off\" is supported by this version");
    }
    table.unsupported("loop_threshold");
    table.unsupported("max_history_messages");
    table.unsupported("max_history_tokens");
}

} // namespace agui::gateway
