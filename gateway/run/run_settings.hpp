#pragma once

#include "gateway/run/context_place.hpp"
#include "gateway/run/disconnect_policy.hpp"
#include "gateway/run/state_prediction.hpp"
#include "runner/loop/agent_loop.hpp"
#include "session/history/history_plan.hpp"
#include "session/prompt/prompt_template.hpp"
#include "session/store/usage.hpp"
#include "translator/agui/agui_translator.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {

/// An agent as the run service uses it.
struct agent_entry {
    runner::agent_settings settings;
    /// If it has placeholders, its rendering takes the place of settings.instructions.
    session::prompt_template prompt;
    /// Identifies the text of `prompt` and the settings that decide what is told where; see
    /// session::prompt_beginning::source.
    std::string prompt_source;
    gateway::tool_list tool_list = gateway::tool_list::exact;
    bool adds_tools = false; ///< One of its models is told tools with messages (adds_tools()).
    instructions_refresh refresh = instructions_refresh::append;
    runner::model_provider* model = nullptr;
    std::vector<runner::model_choice> fallbacks; ///< See runner::run_request::fallbacks.
    /// The agent's setting. If nullopt, the session's setting applies.
    std::optional<session::client_history> client_history;
    context_place context = context_place::user;
    context_place state = context_place::off;
    std::vector<predicted_member> predictions;
    /// Interrupts also for clients that know only `on_interrupt` (translator_settings), and
    /// forwarded_settings::legacy_resume answers them.
    bool legacy_interrupts = false;
    bool tanstack = false; ///< `events = ["tanstack"]` (translator_settings).
    /// Patterns for the names of the tools that clients may offer: `client_tools` or
    /// `tools.client_names`, and the names of the external tools. nullopt allows all.
    std::optional<std::vector<std::string>> client_tools;
    bool titles = true; ///< False for `title = "off"`: new threads get no title.
    /// `title_model`, with its own parameters as far as a title needs them. Without a provider,
    /// the title from the first message stays.
    runner::model_choice title_model;
    /// With [[quotas]]: what a call of its first model reserves for the answer, unless the request
    /// sets a maximum.
    session::usage_amount first_call{};
    bool checks_prefix = false; ///< `prefix_check = "log"`, with history on the server.
    std::set<std::string, std::less<>> overridable; ///< The forwardedProps that take effect.
    /// Models that a request may choose by name, including the agent's own.
    std::map<std::string, std::pair<runner::model_provider*, runner::model_parameters>, std::less<>>
        models;
};

struct external_tool {
    runner::tool_definition definition;
    bool always = true; ///< If false, it is offered only if the request lists it too.
};

/// Settings of accepting and executing runs.
struct run_settings {
    session::history_policy history;
    bool reject_name_clash = false; ///< `tools.on_name_clash = "reject"`.
    std::vector<external_tool> external_tools;
    disconnect_policy on_disconnect;
    std::chrono::seconds run_timeout{3600};
    std::chrono::seconds replay{600};
    std::chrono::seconds detached{3600};
    std::size_t max_runs = 10'000;
    std::size_t max_detached_runs = 1'000;
    std::size_t max_run_bytes = 64U << 20U;
    std::size_t max_result_bytes = 1U << 20U;
    std::uint64_t max_thread_bytes = 64U << 20U; ///< `session.max_thread_bytes`.
    bool relaxed_durability = false;
    /// `session.queue_max`: how many messages may wait for an active run (POST /agui/steer).
    std::size_t max_waiting_messages = 100;
    /// `session.on_busy = "enqueue"`: messages for a busy thread wait for its next run.
    struct queue_settings {
        std::size_t max = 100; ///< `session.queue_max`, of each thread.
        /// `session.queue_hold_seconds`: how long queued messages spare the calls of a later
        /// hand-off before they abandon them.
        std::chrono::seconds hold{600};
        /// `session.on_busy = "steer"`: the active run takes them between two answers of its model,
        /// if it can.
        bool steers = false;
    };
    std::optional<queue_settings> queue;
    bool supersede_active = false;  ///< `session.on_busy = "supersede"`.
    bool supersede_detached = true; ///< `session.on_busy_detached = "supersede"`.
    /// How long a user message waits for a busy thread's run to end or to lose its readers.
    std::chrono::milliseconds busy_wait{500};
    translator::translator_settings translation;
    std::map<std::string, agent_entry, std::less<>> agents; ///< By id.
    std::string default_agent = "default";                  ///< The agent that answers POST /agui.
};

} // namespace agui::gateway
