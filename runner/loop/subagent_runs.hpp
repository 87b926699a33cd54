#pragma once

#include "runner/loop/run_parts.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace agui::runner {

/// The agents that one run calls as tools. Each call runs the loop of its agent on a conversation
/// of its own (session::subagent_thread), inside the run. Lives on the run's executor. Owned by
/// shared_ptr: by the run, and by the calls, which may outlive it and then do nothing.
class subagent_runs : public std::enable_shared_from_this<subagent_runs> {
public:
    explicit subagent_runs(const run_parts& run) : run_(run) {}
    subagent_runs(const subagent_runs&) = delete;
    subagent_runs& operator=(const subagent_runs&) = delete;

    /// The tool as this run executes it: itself, or one that runs the agent of that name.
    [[nodiscard]] std::shared_ptr<const registered_tool>
    bind(const std::string& name, const std::shared_ptr<const registered_tool>& tool);

    /// Stops all that work, and completes when they have ended. From then on none can begin. Must
    /// be awaited before the run ends, unless all calls have their results.
    [[nodiscard]] boost::asio::awaitable<void> end_all(stop_reason reason);

private:
    class presence;

    [[nodiscard]] boost::asio::awaitable<tool_outcome>
    run(std::shared_ptr<const called_agent> agent, tool_invocation call);
    [[nodiscard]] boost::asio::awaitable<tool_outcome> work(
        const called_agent& agent, const tool_invocation& call, session::thread_record thread,
        memory_share memory
    );
    [[nodiscard]] bool is_edited(const std::string& call_id) const;
    [[nodiscard]] run_request
    request_for(const called_agent& agent, session::thread_record thread) const;

    const run_parts run_;
    std::vector<stop_source*> working_;
    std::size_t present_ = 0; ///< Calls that use this object.
    std::unique_ptr<boost::asio::steady_timer> all_ended_;
    bool is_over_ = false;
};

} // namespace agui::runner
