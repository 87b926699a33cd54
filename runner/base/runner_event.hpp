#pragma once

#include "session/base/json_text.hpp"
#include "session/conversation/message.hpp"

#include <boost/json/object.hpp>

#include <string_view>
#include <variant>
#include <vector>

namespace agui::runner {

// The events of a run, in order, for display. Views and pointers are valid only during the call
// that passes the event.

struct text_delta {
    std::string_view message_id; ///< One per model turn.
    std::string_view text;       ///< Not empty.
};

struct reasoning_delta {
    std::string_view message_id; ///< Id of the reasoning message, which is not the turn's message.
    std::string_view text;
};

struct call_started {
    std::string_view call_id;
    std::string_view name;
    std::string_view parent_message_id; ///< The turn's message.
    bool external = false;
};

struct call_arguments {
    std::string_view call_id;
    std::string_view delta;
};

/// The call's arguments are complete; the model's answer goes on.
struct call_ended {
    std::string_view call_id;
};

/// The model's answer is complete. Nothing of this turn is open.
struct turn_ended {};

/// A server call was handed to its tool, where it may have to wait.
struct call_executing {
    std::string_view call_id;
    std::string_view name;
};

/// A server call has its result, which is already stored.
struct call_result {
    std::string_view message_id;
    std::string_view call_id;
    const session::content* content = nullptr;
    bool failed = false;
};

/// A part of a reply that is not text, such as the name of a picture (reply_items).
struct reply_segment {
    std::string_view message_id; ///< The turn's message.
    const boost::json::object* segment = nullptr;
};

/// The messages of the branch, for a client that lacks some.
struct messages_snapshot {
    const std::vector<session::message>* messages = nullptr;
};

/// The thread's state document, which is already stored. Shown at the start of a run, and when it
/// has changed.
struct state_shown {
    const json_text* state = nullptr;
    /// The JSON Patch that makes it of the one that was shown before; empty if readers need all.
    std::string_view patch = {};
};

/// An activity is created or replaced. It is stored with the run's next commit.
struct activity_shown {
    const session::message* activity = nullptr;
    bool replace = true; ///< If false, clients keep an activity that they already have.
};

/// An activity of this run has changed.
struct activity_patched {
    std::string_view message_id;
    std::string_view activity_type;
    std::string_view patch; ///< A JSON Patch of its content.
};

/// A step of the run begins or ends. The run's end ends all steps.
struct step_started {
    std::string_view name;
};
struct step_finished {
    std::string_view name;
};

/// An event of the application.
struct custom_sent {
    std::string_view name;
    std::string_view value; ///< JSON
};

/// An event of another system, passed on as it is.
struct raw_sent {
    std::string_view event;  ///< JSON
    std::string_view source; ///< Empty if unknown.
};

/// An agent begins to work for a call of the run, or goes on with it in a later run. Its events
/// follow in a lane of their own (run_sink::emit_inner).
struct subagent_started {
    std::string_view subagent_run_id; ///< Names the call's work; the same in later runs.
    std::string_view name;
    std::string_view description;            ///< May be empty.
    std::string_view parent_subagent_run_id; ///< Empty if the run itself has made the call.
    std::string_view parent_call_id;
    std::string_view parent_message_id;
};

/// A subagent's part in this run is over. One that is suspended goes on in a later run, if this one
/// leaves its calls to the caller.
struct subagent_ended {
    enum class outcome {
        finished,
        suspended, ///< It waits for an answer of the caller or for an approval.
        failed,    ///< Stopped or failed; the run may go on.
    };
    std::string_view subagent_run_id;
    outcome how = outcome::finished;
    std::string_view result = {};  ///< finished: its text.
    std::string_view message = {}; ///< failed: a sentence for people.
    std::string_view code = {};    ///< failed: error_code().
};

using runner_event = std::variant<
    text_delta, reasoning_delta, call_started, call_arguments, call_ended, turn_ended,
    call_executing, call_result, messages_snapshot, reply_segment, state_shown, activity_shown,
    activity_patched, step_started, step_finished, custom_sent, raw_sent, subagent_started,
    subagent_ended>;

} // namespace agui::runner
