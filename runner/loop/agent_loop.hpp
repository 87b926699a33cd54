#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/runner_event.hpp"
#include "runner/base/stop_reason.hpp"
#include "runner/base/stop_source.hpp"
#include "runner/hooks/plugin.hpp"
#include "runner/loop/loop_detector.hpp"
#include "runner/loop/reply_items.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/base/id.hpp"
#include "session/base/log.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/failed_attempt.hpp"
#include "session/conversation/state_change.hpp"
#include "session/conversation/thread.hpp"
#include "session/history/history_plan.hpp"
#include "session/history/history_window.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui {
class heavy_work;
}

namespace agui::runner {
class prefix_watch;
}

namespace agui::runner {

/// User messages that an active run takes between two answers of its model.
struct user_messages {
    std::vector<session::message> messages; ///< In order, with ids that the thread does not have.
    session::changes change;                ///< To be stored together with them.
};

/// Where a run's events and changes go. Used from the run's executor only.
class run_sink {
public:
    virtual ~run_sink() = default;

    /// Shows an event. Deltas may be shown before their message is committed.
    virtual void emit(const runner_event& event) = 0;
    /// Shows an event of a subagent of the run. By default nothing of subagents is shown but that
    /// they begin and end.
    virtual void emit_inner(std::string_view /*subagent_run_id*/, const runner_event& /*event*/) {}

    /// The subagentRunId of the run if it is a subagent's, otherwise empty.
    [[nodiscard]] virtual std::string_view subagent_run_id() const noexcept { return {}; }

    /// Events between begin_batch() and end_batch() arrived together and are shown together, at
    /// end_batch() or after the handlers that are ready. All other events are shown after the
    /// current handler of the executor.
    virtual void begin_batch() {}
    virtual void end_batch() {}

    /// Returns false while events come faster than they are stored. The run then awaits room()
    /// before it reads more from a model; see model_sink.
    [[nodiscard]] virtual bool has_room() const noexcept { return true; }
    /// Completes when there is room again. Cancellable (terminal).
    [[nodiscard]] virtual boost::asio::awaitable<void> room() { co_return; }

    /// An attempt to ask a model failed. The run goes on or ends by other calls. The implementation
    /// adds the run's number to a stored attempt. Must neither block nor throw.
    virtual void keep_attempt(session::failed_attempt attempt) noexcept = 0;

    /// Makes `change` durable. After a failure the run ends as store_unavailable.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>> commit(session::changes change) = 0;

    /// The run's thread with all changes that the run has committed. Called when a run continues
    /// after its model's answer.
    [[nodiscard]] virtual boost::asio::awaitable<result<session::thread_record>> load_thread() = 0;

    /// The stored state document of the thread; null if it has none.
    [[nodiscard]] virtual boost::asio::awaitable<result<json_text>> load_state();
    /// Changes the state document: stores the change, then shows it (state_shown). Changes take
    /// effect in the order of the calls. A cancelled caller undoes nothing. Fails as
    /// session::change_document(), and with run_is_over() once the run has ended. By default a run
    /// has no state and refuses changes.
    [[nodiscard]] virtual boost::asio::awaitable<result<void>>
    change_state(session::state_change change);

    /// Returns true if user messages wait for the run. They wait until the run takes them or ends.
    [[nodiscard]] virtual bool has_messages() const noexcept { return false; }
    /// Takes all of them; may find none. The next commit() must store them with their change, and
    /// decides: after errc::conflict or errc::run_id_reused nothing was stored, and the run
    /// continues without them.
    [[nodiscard]] virtual user_messages take_messages() { return {}; }

    /// Ends the run: stores `change` and the terminal event in one transaction, and frees the
    /// thread before the event is visible (P3, P7). Called exactly once, last.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    finish(session::changes change, run_end end) = 0;
};

/// How often a run lets its model go on after a pause (finish_reason::pause). A run whose model
/// pauses once more ends as max_rounds. Each pause also counts as an answer with calls for
/// max_rounds and max_turn_rounds.
inline constexpr std::uint32_t pauses_max = 8;

/// Limits beside max_rounds; 0 means no limit. A run that exceeds one ends on purpose (P9), and no
/// call of the exceeding answer is executed or handed over.
struct turn_limits {
    /// Over all runs of a user turn. A run that exceeds it ends as max_rounds.
    std::uint32_t max_calls = 0;
    /// Answers with calls over all runs of a user turn: max_rounds begins anew with each run, so a
    /// page that answers each hand-off could evade it. A run that exceeds it ends as max_rounds.
    std::uint32_t max_turn_rounds = 100;
    /// Over all runs of a user turn, as reported by the model server; without a report, four bytes
    /// of an answer count as one token. Once it is reached, no model is asked and the run ends as
    /// token_limit.
    std::uint64_t max_tokens = 0;
    std::uint32_t loop_threshold = 3; ///< For loop_detector; 0 switches detection off.
    loop_action on_loop = loop_action::warn;
    loop_callback decide_loop; ///< If set, decides instead of on_loop.
};

struct called_agent;
struct delegation;

/// How deep agents may call each other: the agents of a run call agents of the first depth. Each
/// depth multiplies what one question can cost.
inline constexpr std::size_t subagent_depth_max = 3;
/// How many subagents may begin or go on in one run. A call beyond it gets an error result.
inline constexpr std::uint32_t subagent_runs_max = 50;

/// An agent as configured, with the changes of the request.
struct agent_settings {
    std::string id = "default";
    std::string instructions;
    /// The application's data, as context_text() and state_text() write it, that no message of the
    /// thread tells. It is put before the last user message of each model request.
    std::string context;
    /// Server tools that the agent may use; empty allows all.
    std::vector<std::string> tool_patterns;
    /// Server tools of this agent alone, whatever tool_patterns says. They precede tools of the
    /// registry with their names. May be null.
    std::shared_ptr<const tool_set> own_tools = {};
    /// The agents that this one may call, by the names of their tools (agent_tool()), which are
    /// among own_tools.
    std::map<std::string, std::shared_ptr<const called_agent>, std::less<>> agents = {};
    /// Tools of these names are declared first, in this order; all others follow.
    std::vector<std::string> tool_order;
    /// Declared although they are not offered, unless an offered tool has the name. A call of one
    /// gets an error result.
    std::vector<tool_definition> withdrawn_tools;
    /// Names of the tools that came inside the user turn. A model whose server binds its list
    /// (model_provider::binds_tools()) is not told them before the next turn, unless it is told
    /// them with their message, or another model has called one.
    std::vector<std::string> late_tools;
    /// Execute calls of tools that are unavailable or not in the registry. Never changed; may be
    /// null.
    std::shared_ptr<const tool_executors> executors = {};
    turn_limits limits;
    session::history_window window; ///< How much of the conversation the model is sent.
    /// tool_choice applies to the first call of a user turn.
    model_parameters parameters;
    // The small members stand together, because each alone would take eight bytes.
    std::uint32_t max_rounds = 10; ///< Number of model answers whose calls may be executed.
    std::uint32_t max_parallel_tools = 8;
    /// For all calls that the server executes, unless a tool's own rule is stricter.
    approval_rule approval = approval_rule::never;
    /// With `items`, the text of an answer is shown when it is complete, without the parts that are
    /// not for people. Unreadable parts cause a warning in the log.
    reply_format reply = reply_format::text;
    bool only_external_tools = false; ///< The agent may use no server tool, whatever the rest says.
    /// Offers no tool that is not in tool_order.
    bool keeps_tool_list = false;
    /// Tells tools with their messages where the model takes it (model_provider::adds_tools()).
    bool adds_tools = false;
    /// Tells the model the results of the caller's tools, and of those with
    /// tool_options::is_foreign, between tags (session::delimit_results()).
    bool delimits_results = false;
};

/// A model that a run may ask.
struct model_choice {
    model_provider* provider = nullptr;
    model_parameters parameters; ///< tool_choice applies to the first call of a user turn.
};

/// An agent that another agent may call.
struct called_agent {
    std::string description; ///< Told to the model that may call it.
    agent_settings settings;
    /// Makes settings.instructions for a call that was made in `thread` at that time; if empty,
    /// they are the same for all calls. May be called on any thread.
    std::function<std::string(const session::thread_record& thread, unix_ms called_at)>
        instructions = {};
    model_provider* model = nullptr;     ///< Must outlive every run.
    std::vector<model_choice> fallbacks; ///< As run_request::fallbacks.
};

/// One run, ready to start: the input is stored and part of `thread`.
struct run_request {
    session::thread_key key;
    std::string run_id;
    std::string address = {}; ///< model_request::address
    agent_settings agent;
    /// Never null. Released before the model is asked.
    std::shared_ptr<const session::thread_record> thread;
    session::next_step next = session::next_step::call_model;
    bool snapshot = false;
    bool new_user_turn = false;
    /// Calls of `thread` that became this run's by their approval.
    std::vector<session::approved_call> approved = {};
    /// Results in `thread` that the request has made, of calls that were denied or cancelled. They
    /// are shown when the run begins.
    std::vector<session::taken_answer> refused_calls = {};
    std::string_view refusal = {}; ///< With next_step::refuse: run_end::refusal.
    std::chrono::seconds approval_life = session::history_policy().approval_life;
    /// The use of the user turn so far. If nullopt, use_of_turn() reads it from the thread.
    std::optional<turn_use> used = {};
    /// Asked in this order, after agent.parameters and loop_services::model, when a model fails
    /// before any of its answer was shown. The first model to be asked is the one that answered
    /// last in the user turn.
    std::vector<model_choice> fallbacks = {};
    std::vector<tool_definition> external_tools; ///< Offered in addition to the server's.
    std::string sender = {};                     ///< tool_invocation::sender
    /// Passed on as tool_invocation::headers.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// For the run of a subagent, which the loop itself begins: its id, and what it shares with the
    /// run in which it works. Null for all other runs.
    std::string subagent_run_id = {};
    delegation* within = nullptr;
};

/// The services of the loop. All referenced objects must outlive every run.
struct loop_services {
    model_provider& model;
    const tool_registry& tools;
    id_source& ids;
    const clock& time;
    logger& log;
    std::size_t max_result_bytes = 1U << 20U;
    std::uint64_t max_thread_bytes = UINT64_MAX; ///< On a longer thread, no model is asked again.
    const plugin_list* plugins = nullptr;        ///< May be null.
    /// Counts the thread while it is in memory, the request written from it, the results of tools,
    /// and the media that a model has made, until they are stored. May be null.
    memory_budget* memory = nullptr;
    heavy_work* heavy = nullptr; ///< Prepares large threads for the model. May be null.
    /// Compares each request of a thread with the one before, and the log gets a line where it does
    /// not begin with it. May be null.
    prefix_watch* prefixes = nullptr;
};

/// Runs the agent loop: asks the model, executes its server tools in parallel, hands external calls
/// to the caller, and repeats this until an answer has no calls. Calls that need a person's
/// approval are stored as such, and end the run once the others have their results. A call of an
/// agent (agent_settings::agents) is executed by a loop of its own inside the run. Always ends
/// with exactly one sink.finish(); never throws. stop.request() ends the upstream call and the
/// server tools at once (a tool that ignores its cancellation is left running and its result is
/// dropped); after it has returned, no model is asked and no tool is started. `stop` is closed
/// right before sink.finish(): an earlier stop becomes the end reason, however the run ended
/// otherwise (only store_unavailable takes precedence). `sink` and `stop` must outlive the await.
/// `memory` holds the share of services.memory that was already taken for the thread; may be empty.
[[nodiscard]] boost::asio::awaitable<void> run_agent(
    run_request request, loop_services services, run_sink& sink, stop_source& stop,
    memory_share memory = {}
);

} // namespace agui::runner
