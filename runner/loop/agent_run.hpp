#pragma once

#include "runner/loop/agent_loop.hpp"
#include "runner/loop/conversation.hpp"
#include "runner/loop/delegation.hpp"
#include "runner/loop/loop_context.hpp"
#include "runner/loop/loop_detector.hpp"
#include "runner/loop/model_round.hpp"
#include "runner/loop/run_hooks.hpp"
#include "runner/loop/run_parts.hpp"
#include "runner/loop/run_step.hpp"
#include "runner/loop/said_answer.hpp"
#include "runner/loop/subagent_runs.hpp"
#include "runner/loop/tool_round.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The loop of one run: asks the model and executes the calls of its answers until there is a
/// reason to end. Lives on the run's executor. All arguments except the first must outlive it.
class agent_run {
public:
    agent_run(
        run_request request, loop_services services, run_sink& sink, stop_source& stop,
        memory_share memory
    );
    agent_run(const agent_run&) = delete;
    agent_run& operator=(const agent_run&) = delete;
    virtual ~agent_run() { open_context_->close(); }

    /// Returns the end reason. Uncommitted changes are left for finish().
    virtual boost::asio::awaitable<stop_reason> run() { return run_steps(); }
    boost::asio::awaitable<void> finish(stop_reason reason);

    /// Records the detail for end_details. Only the first call counts.
    void note(std::string_view detail);

protected:
    boost::asio::awaitable<stop_reason> run_steps();

    /// Gets one answer of the model; nullopt if it has calls, or if the model paused. Not a
    /// coroutine itself, because each stream would hold its frame.
    virtual boost::asio::awaitable<std::optional<stop_reason>> ask() {
        return model_round_.ask(answers_ == 0);
    }
    /// Checks and stores an answer with calls, or a paused one.
    virtual boost::asio::awaitable<std::optional<stop_reason>> keep_answer();
    virtual void add_details(end_details& /*about*/) {}
    /// Called before the end, with the change that the end will commit.
    virtual boost::asio::awaitable<void> show_changed(const session::changes& /*last*/) {
        co_return;
    }

    /// Marks the calls that a person has to approve, and keeps the answer as a change.
    void hold(said_answer said);
    /// Commits the change that hold() has kept.
    boost::asio::awaitable<std::optional<stop_reason>> commit_unstored();
    /// For an answer with calls: the end reason if none of it may be executed or handed over. For a
    /// paused one: the end reason if the model may not go on.
    std::optional<stop_reason> check_limits();
    std::optional<stop_reason> count_round();
    void emit_snapshot(const session::thread_record& thread, session::node_index tip);
    [[nodiscard]] run_parts parts() noexcept {
        return {request_, services_, sink_,         stop_,      conversation_,
                tools_,   hooks_,    open_context_, subagents_, within_};
    }

    run_request request_;
    loop_services services_;
    run_sink& sink_;
    stop_source& stop_;
    const run_tools tools_;
    conversation conversation_;
    const std::shared_ptr<loop_context> open_context_ =
        std::make_shared<loop_context>(sink_, services_.ids, services_.memory);
    std::unique_ptr<run_hooks> hooks_; ///< Null if there are no plugins.
    /// What its subagents share; null if it has none, or is the run of one.
    const std::unique_ptr<delegation> delegation_;
    delegation* const within_; ///< The same, or that of the run in which this one works.
    const std::shared_ptr<subagent_runs> subagents_; ///< Null if the agent may call no agents.
    model_round model_round_{parts()};
    tool_round tool_round_{parts()};
    std::uint32_t answers_ = 0; ///< Answers that held calls or were a pause.
    std::uint32_t pauses_ = 0;
    std::unique_ptr<session::changes> unstored_; ///< Change of a turn whose commit failed.

private:
    /// Commits what open_context_ has; false if that fails.
    boost::asio::awaitable<bool> store_activities();
    /// The end reason if the model may not be asked.
    boost::asio::awaitable<std::optional<stop_reason>> before_answer();
    /// Takes the result of ask(); nullopt if another step follows.
    boost::asio::awaitable<std::optional<stop_reason>> after_answer(std::optional<stop_reason> ended
    );
    boost::asio::awaitable<std::optional<stop_reason>> continue_with_messages();
    boost::asio::awaitable<std::optional<stop_reason>> take_messages();
    [[nodiscard]] bool may_answer_messages() const noexcept;
    boost::asio::awaitable<std::optional<stop_reason>> store_answer(std::optional<stop_reason> ended
    );
    end_details take_details();
    turn_use take_use();
    std::optional<stop_reason> check_tokens();
    std::optional<stop_reason> check_loops(const std::vector<model_turn::call>& calls);
    stop_reason exceeded(std::string_view limit);
    loop_action on_loop(const model_turn::call& call, const found_loop& found);
    void note_failure(session::changes& change, stop_reason reason) const;
    void emit_lost_result(
        const session::call_record& call, session::call_status status,
        std::string_view subagent_run_id
    );
    /// The run's way out if it asks no model.
    boost::asio::awaitable<stop_reason> end_without_model();
    boost::asio::awaitable<stop_reason> ask_approval();
    [[nodiscard]] run_step next_step() const noexcept;
    void show_refused_calls();
    void end_inner_calls(session::changes& change, run_end& end, const text_set& kept);
    void end_call(
        session::changes& change, run_end& end, const session::call_record& call,
        session::call_status status, std::string_view subagent_run_id
    );
    [[nodiscard]] text_set calls_to_ask_again(stop_reason reason) const;
    /// Use of the user turn by this run, its answer under way, and its subagents.
    [[nodiscard]] turn_use use_so_far() const;
    [[nodiscard]] bool is_of_subagent() const noexcept { return within_ && !delegation_; }
    [[nodiscard]] session::call_status
    status_at_end(const session::call_record& call, stop_reason reason) const noexcept;
    [[nodiscard]] static session::call_status
    inner_status_at_end(const session::call_record& call, stop_reason reason) noexcept;

    turn_use used_;      ///< Use of the user turn; its tokens are those of earlier runs.
    std::string detail_; ///< See note().
    std::optional<loop_detector> detector_;    ///< Nullopt if detection is off.
    std::vector<session::approval> approvals_; ///< With stop_reason::approval_needed.
};

} // namespace agui::runner
