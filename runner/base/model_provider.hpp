#pragma once

#include "session/base/memory_budget.hpp"
#include "session/conversation/failed_attempt.hpp"
#include "session/conversation/message.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/system/result.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// A tool as it is offered to a model.
struct tool_definition {
    std::string name;
    std::string description;
    boost::json::value parameters; ///< JSON Schema; null: no parameters.
};

struct tool_choice {
    enum class mode { automatic, none, required, named };
    mode kind = mode::automatic;
    std::string name; ///< For `named`.
};

/// "auto", "none", "required"; anything else is a tool's name.
[[nodiscard]] tool_choice tool_choice_from_string(std::string_view text);

/// The parameters of a model call besides its messages. Absent: the model server's default.
struct model_parameters {
    std::string model;
    std::optional<double> temperature;
    std::optional<std::int64_t> max_output_tokens;
    std::optional<runner::tool_choice> tool_choice;
    std::optional<bool> parallel_tool_calls;
    std::optional<std::string> reasoning_effort;
};

/// One model call. References are valid until ask() has returned.
struct model_request {
    model_parameters parameters;
    /// model_provider::name() of the one that is asked: what it said is given back to it alone.
    std::string_view provider = {};
    std::string_view instructions; ///< System text; empty: none.
    /// From session::model_history(). The provider empties it once it has written the request, so
    /// that a long history takes no memory while the model answers.
    std::vector<session::message>* messages = nullptr;
    /// Approximate size of the messages: a large request is written where no I/O thread is blocked.
    std::uint64_t bytes = 0;
    /// Counts the messages and the request that is written from them. The provider shrinks it to
    /// what it still keeps, and to 0 once the server has the request. Null: nothing is counted.
    memory_share* memory = nullptr;
    const std::vector<tool_definition>* tools = nullptr;
    /// The JSON Schema of an object, as text, that the answer's text must fit; empty: any text.
    std::string_view answer_schema = {};
};

/// Receives an answer while it streams. Called on the executor that runs ask(); must not block.
/// Views are valid during the call only. No delta is empty. Text, reasoning and calls may
/// alternate, and several calls may be open at a time.
class model_sink {
public:
    virtual ~model_sink() = default;
    virtual void on_text(std::string_view delta) = 0;
    virtual void on_reasoning(std::string_view delta) = 0;
    /// A new call. `call` counts from 0 in this answer; `id` is empty if the server sent none.
    virtual void on_call(std::size_t call, std::string_view id, std::string_view name) = 0;
    virtual void on_call_arguments(std::size_t call, std::string_view delta) = 0;
    /// The call's arguments are complete: none may follow. Clients may act on the call from here
    /// on. A call for which this is not said is complete with the answer.
    virtual void on_call_end(std::size_t call);

    /// What comes between these two is from one read of the network; the sink may publish it
    /// together, at the end.
    virtual void begin_batch() {}
    virtual void end_batch() {}

    /// False: too much was delivered that is not stored or passed on yet. The provider awaits
    /// room() before it reads more of the answer; it may deliver what it has already read.
    [[nodiscard]] virtual bool has_room() const noexcept { return true; }
    /// Completes when there is room again. May be cancelled (terminal).
    [[nodiscard]] virtual boost::asio::awaitable<void> room();

    /// Data that the server wants sent back in later requests, with the answer or with one of its
    /// calls. The sink does not look at it. A later value of a key replaces an earlier one.
    virtual void on_turn_data(std::string_view key, const boost::json::value& value);
    virtual void on_call_data(std::size_t call, const boost::json::value& value);
};

/// The tokens of one or several calls of one model. An absent count is unknown, not zero.
struct token_usage {
    std::string provider;
    std::string model;
    std::optional<std::int64_t> input_tokens;  ///< In all, cached and cache-write tokens included.
    std::optional<std::int64_t> output_tokens; ///< In all, reasoning included.
    std::optional<std::int64_t> reasoning_tokens;
    std::optional<std::int64_t> cached_input_tokens;
    std::optional<std::int64_t> cache_write_input_tokens;
};

/// Adds `more` to the entry of the same provider and model in `all`, or as a new entry. A count
/// that no call reported stays absent.
void add_usage(std::vector<token_usage>& all, const token_usage& more);

enum class finish_reason { stop, tool_calls, length, content_filter };

/// How a complete answer ended.
struct model_answer {
    finish_reason reason = finish_reason::stop;
    std::optional<token_usage> usage;
    /// For the log at debug level: the server's finish reason, if it is not a known one; keys cut
    /// out.
    std::string unknown_reason = {};
};

/// Why there is no complete answer. What was delivered to the sink stays delivered.
struct model_failure {
    enum class kind {
        /// No connection, 408, 429, 5xx, an error in the stream, or a body that is not an answer.
        unavailable,
        lost,      ///< The answer had begun, but ended or broke without its end mark.
        rejected,  ///< Any other 4xx: the request is at fault.
        timeout,   ///< Of connecting, of the first byte, or between two events.
        memory,    ///< The memory budget has no room for the answer.
        cancelled, ///< The coroutine was cancelled.
    };
    kind what = kind::unavailable;
    int status = 0;     ///< The HTTP status; 0: none was received.
    std::string detail; ///< For the log only: what happened, in our words.
    /// What the server said, keys cut out, at most session::attempt_body_max bytes; for the failed
    /// attempts and, its start, for the log at debug level. Empty: nothing.
    std::string upstream = {};
    /// After this time the server may be asked again; nullopt: it does not say.
    std::optional<std::chrono::milliseconds> retry_after = {};
    /// The server's id of the request, by which its support finds it. Empty: it sent none.
    std::string request_id = {};
};

/// How much is read of what a server says about an error. It is more than is kept, so that no key
/// is cut in two before keys are cut out.
inline constexpr std::size_t error_text_max = session::attempt_body_max + 4096;

[[noreturn]] void
throw_exception_from_error(const model_failure& error, const boost::source_location& where);

using model_outcome = boost::system::result<model_answer, model_failure>;

/// A model behind some dialect. One object serves any number of calls at a time, from any thread.
class model_provider {
public:
    virtual ~model_provider() = default;

    /// Its name among the configured models: what it wants sent back is sent to the provider of
    /// that name alone. Empty: it wants nothing sent back.
    [[nodiscard]] virtual std::string_view name() const noexcept { return {}; }

    /// Asks once. On cancellation (terminal) it closes the connection to the model server and
    /// returns `cancelled`. Never throws because of the network or the server. What the arguments
    /// refer to must outlive the await.
    [[nodiscard]] virtual boost::asio::awaitable<model_outcome>
    ask(const model_request& request, model_sink& sink) = 0;
};

} // namespace agui::runner
