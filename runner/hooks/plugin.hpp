#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/runner_event.hpp"
#include "runner/base/stop_reason.hpp"
#include "runner/hooks/after_request.hpp"
#include "runner/hooks/appended_message.hpp"
#include "runner/hooks/request_draft.hpp"
#include "runner/tools/run_context.hpp"
#include "session/conversation/message.hpp"

#include <boost/asio/awaitable.hpp>

#include <any>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace agui::runner {

/// One turn as its plugins see it: a run that asks a model. A hand-off ends the turn; the run that
/// brings the answers is another turn.
struct plugin_turn {
    std::string thread_id;
    std::string run_id;
    std::string agent_id;
    std::string principal; ///< Empty if the server knows only one.
    /// Values that plugins keep for this turn and pass to each other. They are destroyed with the
    /// turn.
    std::map<std::string, std::any, std::less<>> values = {};
    std::shared_ptr<run_context> run = {}; ///< The run's state and events.
};

/// Thrown by a hook to end the turn like a stop by the user, but as stop_reason::aborted. Once the
/// run was stopped, an exception of a hook counts as that stop. Any other exception is an error and
/// fails the run.
class turn_aborted : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override { return "aborted by a plugin"; }
};

/// Undoes the work of on_turn_start(). May be empty.
using turn_clean_up = std::function<boost::asio::awaitable<void>()>;

/// A piece of an answer, as the model server sent it.
using stream_data = std::variant<text_delta, reasoning_delta, call_started, call_arguments>;

/// Takes part in the turns of a run, by the hooks that it overrides:
///
///     on_turn_start
///         on_before_request -> on_stream_data, for each piece -> on_message_append
///         -> on_after_request; again from on_before_request for tool results and
///         append_and_request()
///     on_turn_end
///     the clean-ups, last in, first out
///
/// Hooks of several plugins run one after the other, in the order of registration; only
/// on_after_request hooks run side by side. A hook that throws ends the turn, and later hooks are
/// skipped.
///
/// One object serves all runs, from several threads; the state of one turn belongs in
/// plugin_turn::values. All hooks of a run are called on its executor and must not block. When the
/// run is stopped, the current hook is cancelled (terminal) and not waited for (on_message_append
/// and on_turn_end get a moment); its later actions have no effect. References are valid until the
/// hook returns.
class plugin {
public:
    virtual ~plugin() = default;

    /// Called before the first request of a turn only.
    [[nodiscard]] virtual boost::asio::awaitable<turn_clean_up> on_turn_start(plugin_turn& turn);

    /// Called before each request, but once if the request goes to another model after a failure:
    /// the changes hold for each model. Also called before a run executes a call that has waited
    /// for a person and is of no tool of the server: then only the tools that it adds count.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    on_before_request(plugin_turn& turn, request_draft& request);

    /// Called after `data` was shown. `so_far` is the answer including it: its text and calls. It
    /// runs for each token, hence it is no coroutine.
    virtual void
    on_stream_data(plugin_turn& turn, const session::message& so_far, const stream_data& data);

    /// Called after a complete answer, before its calls are executed. Not called if the answer
    /// failed, was cut inside a call, or exceeded a limit of the agent.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    on_after_request(plugin_turn& turn, after_request& request);

    /// Called before a message of the model, of a plugin or of a tool is stored; not for messages
    /// of the user. Also called after a stop, which cancels the hook only after a quarter of a
    /// second. If the hook does not succeed, the message is stored as it was given.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    on_message_append(plugin_turn& turn, appended_message& appended);

    /// Called once, after the last request, also if the turn was stopped; not after a failure, nor
    /// if on_turn_start() did not succeed. After a stop it has half a second.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    on_turn_end(plugin_turn& turn, stop_reason reason);
};

/// In the order of registration.
using plugin_list = std::vector<std::shared_ptr<plugin>>;

} // namespace agui::runner
