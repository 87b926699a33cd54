#pragma once

#include "translator/verifier/verifier_schema.hpp"

#include <boost/json/object.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The verifier's state of one run. Internal to this folder.
namespace agui::translator {

/// Messages, calls, reasoning, steps and subagents of one run: the open ones, the known ones, and
/// their owners. An owner is a subagentRunId, or empty for the parent agent. Checks the rules V5 to
/// V28, O3 to O7 and S9.
class run_streams {
public:
    /// Applies an event that is not a chunk (chunk_expander expands those) and has passed
    /// check_schema().
    [[nodiscard]] violation apply(const boost::json::object& event);

    /// Checks that nothing is open at a terminal; the rule is V5 to V10 for RUN_FINISHED, O3 for
    /// RUN_ERROR.
    [[nodiscard]] violation check_closed(bool finished) const;

    /// The calls started in this run that have no result, in order, without those whose subagent is
    /// suspended.
    [[nodiscard]] std::vector<std::string> unanswered() const;

    /// Adds the history that RUN_STARTED.input restates, if it has one.
    [[nodiscard]] violation seed(const boost::json::object& run_started);

private:
    using object = boost::json::object;

    struct message_info {
        std::string role; ///< Also tool, activity and reasoning.
        std::string name;
        std::string owner;
        bool streamed = false; ///< It had its own START, so `name` is meaningful.
    };
    struct call_info {
        std::string owner;
        bool open = false;
        bool answered = false;
        bool suspended = false; ///< Its subagent goes on in a later run.
    };
    template <class Value>
    using by_id = std::map<std::string, Value, std::less<>>;
    using id_set = std::set<std::string, std::less<>>;

    violation text_start(const object& event);
    violation text_content(const object& event);
    violation text_end(const object& event);
    violation call_start(const object& event);
    violation call_args(const object& event);
    violation call_end(const object& event);
    violation call_result(const object& event);
    violation step_started(const object& event);
    violation step_finished(const object& event);
    violation reasoning_start(const object& event);
    violation reasoning_end(const object& event);
    violation reasoning_message_start(const object& event);
    violation reasoning_message_content(const object& event);
    violation reasoning_message_end(const object& event);
    violation encrypted_value(const object& event);
    violation activity_snapshot(const object& event);
    violation activity_delta(const object& event);
    violation messages_snapshot(const object& event);
    violation subagent_started(const object& event);
    violation subagent_finished(const object& event);

    violation restate(const object& message, bool overwrite);
    violation check_parent(const std::string& parent, const std::string& owner) const;
    [[nodiscard]] violation
    enter(const object& event, std::string_view role, std::string_view name);

    bool at_start_ = true; ///< Only results of earlier calls have arrived.
    by_id<message_info> messages_;
    by_id<call_info> calls_;
    std::vector<std::string> call_order_;
    id_set open_texts_;
    id_set open_reasoning_;          ///< Reasoning messages.
    by_id<std::string> open_spans_;  ///< Owners of open REASONING_STARTs, by id.
    by_id<std::string> span_owners_; ///< The same, including closed ones.
    std::set<std::pair<std::string, std::string>> open_steps_; ///< Owner and name.
    id_set active_subagents_;
    id_set started_subagents_;
    by_id<std::string> served_calls_; ///< The calls for which subagents work, by subagent.
};

} // namespace agui::translator
