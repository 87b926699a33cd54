#pragma once

#include "session/base/text_map.hpp"
#include "session/history/history_plan.hpp"

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace agui::session {

// Shared by the two halves of the history rule: history_import.cpp (the input is the history) and
// history_plan.cpp (the stored thread is). Views and pointers live as long as the input and the
// thread.

/// A user message of the conversation itself, not of a subagent run.
[[nodiscard]] bool is_user(const message& value) noexcept;

/// The number of messages of a branch without the failure notes at its end.
[[nodiscard]] std::size_t
end_without_notes(const thread_record& thread, const std::vector<node_index>& path);

/// The calls and answers in the input, by call id; the first one counts. An error result that this
/// server generated is not an answer (missing_result.hpp).
struct input_calls {
    struct given_call {
        const tool_call* call;
        const message* made_by;
    };

    explicit input_calls(const std::vector<message>& messages);

    view_map<given_call> made;
    view_map<const message*> answers;
    std::size_t trailing = 0; ///< From this index on there are only tool messages.
};

[[nodiscard]] failure unknown_call(std::size_t index);
[[nodiscard]] failure other_tool_named(std::size_t index);

/// True if a call of `tool` may still be answered: the tool is configured, or offered by this
/// request, or, if this request has no `tools`, by the last one that had.
[[nodiscard]] bool
is_offered(const thread_record& thread, const history_input& input, std::string_view tool);

/// The relevant facts of a request that arrives while calls are pending.
struct open_call_case {
    bool goes_on = false;         ///< It holds a user message, or regenerates a turn.
    bool answered = false;        ///< It answers some of the pending calls.
    bool own_pair_at_end = false; ///< It ends in the result of a call that the client made itself.
    bool whole_history = false;   ///< It came with history (form 2).
};

enum class open_call_verdict { wait, abandon };

/// Whether the run waits for the calls in `open` (not empty) or abandons them: only some of several
/// pending calls were answered, or a user message came while calls are pending.
[[nodiscard]] result<open_call_verdict> judge_open_calls(
    const std::vector<const call_record*>& open, const open_call_case& given,
    const thread_record& thread, const history_input& input, const history_policy& policy
);

/// Puts messages, calls and warnings into a plan.
class plan_writer {
public:
    plan_writer(const thread_record& thread, history_plan& plan) : thread_(thread), plan_(plan) {}

    /// The next messages are appended after `base`.
    void start_at(node_index base) noexcept { tip_ = base; }
    [[nodiscard]] node_index tip() const noexcept { return tip_; }
    /// The number that the next appended message gets.
    [[nodiscard]] node_index next_node() const noexcept;
    void append(message value);

    /// Stores a call record; of several with the same id, the last counts.
    void set_call(call_record record);
    void set_status(const call_record& call, call_status status);
    /// Makes it an open call of the request's run.
    void give_to_run(call_record call);
    /// A call whose subagent waits becomes the new run's if nothing of the subagent waits any more,
    /// or if the run has to execute something of it. `is_here`: the call is on the branch.
    void continue_subagents(const std::function<bool(const call_record&)>& is_here);
    /// The status of the call after the change so far.
    [[nodiscard]] call_status status_of(const call_record& call) const;
    /// Stores the effect of an answer. `call` is its call's record after the change so far. Returns
    /// the result of a call that is not executed.
    [[nodiscard]] std::optional<message> settle(const judged_answer& answer, call_record call);

    /// Repeats of a warning are dropped: clients send the same history with every request.
    void warn(std::string_view text);

private:
    void keep_input(const judged_answer& answer);

    const thread_record& thread_;
    history_plan& plan_;
    node_index tip_ = no_node;
    text_map<std::size_t> call_changes_;
};

} // namespace agui::session
