#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/runner_event.hpp"
#include "runner/base/stop_reason.hpp"
#include "runner/hooks/after_request.hpp"
#include "runner/hooks/appended_message.hpp"
#include "runner/hooks/request_draft.hpp"
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

/// One turn as its plugins see it: a run that asks a model. A hand-off ends it; the run that brings
/// the answers is a turn of its own.
struct plugin_turn {
    std::string thread_id;
    std::string run_id;
    std::string agent_id;
    std::string principal; ///< Empty if the server knows only one.
    /// What plugins keep for this turn, and pass to one another. Gone with the turn.
    std::map<std::string, std::any, std::less<>> values = {};
};

/// Thrown by a hook, ends the turn as a stop by the user does, but as stop_reason::aborted. What a
/// hook throws once the run was stopped is that stop; anything else is an error and fails the run.
class turn_aborted : public std::exception {
public:
    [[nodiscard]] const char* what() const noexcept override { return "aborted by a plugin"; }
};

/// Undoes what on_turn_start() has begun. May be empty.
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
/// Hooks of several plugins run one after the other, in the order of registration, except
/// on_after_request: those run side by side. One that throws ends the turn; later ones are skipped.
///
/// One object serves all runs, from several threads; what belongs to one turn is kept in
/// plugin_turn::values. All hooks of a run are called on its executor and must not block. When the
/// run is stopped, the hook under way is cancelled (terminal) and not waited for (on_message_append
/// and on_turn_end have a moment); what it does afterwards has no effect. References live until the
/// hook has returned.
class plugin {
public:
    virtual ~plugin() = default;

    /// Before the first request; not again for the requests that follow it.
    [[nodiscard]] virtual boost::asio::awaitable<turn_clean_up> on_turn_start(plugin_turn& turn);

    /// Before each request. Asked once, also when the request goes to another model after a
    /// failure: the changes hold for each of them.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    on_before_request(plugin_turn& turn, request_draft& request);

    /// After `data` was shown. `so_far` is the answer with it: its text and calls. On the path of
    /// each token, hence no coroutine.
    virtual void
    on_stream_data(plugin_turn& turn, const session::message& so_far, const stream_data& data);

    /// After a whole answer, before its calls are executed. Not after one that failed, was cut
    /// inside a call, or exceeded a limit of the agent.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    on_after_request(plugin_turn& turn, after_request& request);

    /// Before a message of the model, of a plugin or of a tool is stored; not for messages of the
    /// user. Also after a stop, which cancels the hook only after a quarter of a second. A message
    /// whose hook does not succeed is stored as it was given.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    on_message_append(plugin_turn& turn, appended_message& appended);

    /// Once, after the last request, also if the turn was stopped; not after a failure, nor if
    /// on_turn_start() did not succeed. After a stop it has half a second.
    [[nodiscard]] virtual boost::asio::awaitable<void>
    on_turn_end(plugin_turn& turn, stop_reason reason);
};

/// In the order of registration.
using plugin_list = std::vector<std::shared_ptr<plugin>>;

} // namespace agui::runner
