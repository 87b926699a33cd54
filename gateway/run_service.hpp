#pragma once

#include "gateway/disconnect_policy.hpp"
#include "gateway/run_log.hpp"
#include "runner/agent_loop.hpp"
#include "session/history_plan.hpp"
#include "session/store.hpp"
#include "translator/agui_translator.hpp"
#include "translator/run_input.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// An agent as the run service uses it.
struct agent_entry {
    runner::agent_settings settings;
    runner::model_provider* model = nullptr;
    std::set<std::string, std::less<>> overridable; ///< Names of forwardedProps that take effect.
    /// Models that a request may choose by name, the agent's own among them.
    std::map<std::string, std::pair<runner::model_provider*, runner::model_parameters>, std::less<>>
        models;
};

struct external_tool {
    runner::tool_definition definition;
    bool always = true; ///< false: only when the request lists it too.
};

struct run_service_settings {
    session::history_policy history;
    bool reject_name_clash = false; ///< `tools.on_name_clash = "reject"`.
    std::vector<external_tool> external_tools;
    disconnect_policy on_disconnect;
    std::chrono::seconds run_timeout{3600};
    std::chrono::seconds replay{600};
    std::chrono::seconds detached{3600};
    std::size_t max_runs = 10'000;
    std::size_t max_detached_runs = 1'000;
    std::size_t max_result_bytes = 1U << 20U;
    bool relaxed_durability = false;
    bool supersede_detached = true; ///< `session.on_busy_detached = "supersede"`.
    translator::translator_settings translation;
    std::map<std::string, agent_entry, std::less<>> agents; ///< By id; "default" answers POST /agui.
    std::string default_agent = "default";
};

struct run_services_refs {
    session::store& store;
    const runner::tool_registry& tools;
    id_source& ids;
    const clock& time;
    logger& log;
};

/// Admits runs, owns them until they have ended, and ends them (stop, timeout, drain). A run lives on the
/// executor of the coroutine that started it. All functions may be called from any thread.
class run_service {
public:
    run_service(run_services_refs services, run_service_settings settings);
    ~run_service(); ///< Every run must have ended: see drain().
    run_service(const run_service&) = delete;
    run_service& operator=(const run_service&) = delete;

    struct request {
        std::string principal;
        std::string agent_id; ///< Empty: the default agent.
        translator::run_input input;
        std::optional<disconnect_policy> on_disconnect; ///< Of the header X-On-Disconnect.
    };

    /// Admission: agent, tools, thread lease, history rule, and the begin of the run, in that order. On
    /// success the run is under way and RUN_STARTED is in its log. A repeat of a known runId attaches to
    /// that run's log (P6). Nothing is stored on failure.
    [[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<run_log>>> start(request what);

    /// Stops the thread's active run (of that runId, if given). True if the run addressed ended by a stop;
    /// returns once the thread is free.
    [[nodiscard]] boost::asio::awaitable<bool>
    cancel(session::thread_key key, std::optional<std::string> run_id);

    /// Ends what a former process left active. Before the first start().
    [[nodiscard]] boost::asio::awaitable<void> recover();

    /// Refuses new runs from now on (errc::draining).
    void begin_drain();
    /// Waits until all runs have ended, at most until `deadline`; then ends the rest with `shutdown` and
    /// waits for them.
    [[nodiscard]] boost::asio::awaitable<void>
    drain(std::chrono::steady_clock::time_point deadline);

    [[nodiscard]] bool draining() const;
    [[nodiscard]] std::size_t active_runs() const;

private:
    struct shared;
    std::shared_ptr<shared> shared_;
};

} // namespace agui::gateway
