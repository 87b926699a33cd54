#pragma once

#include "session/base/memory_budget.hpp"
#include "session/conversation/failed_attempt.hpp"
#include "session/conversation/message.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/system/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

class stop_source;

/// A tool as it is offered to a model.
struct tool_definition {
    std::string name;
    std::string description;
    boost::json::value parameters; ///< JSON Schema; null if the tool has no parameters.
};

struct tool_choice {
    enum class mode { automatic, none, required, named };
    mode kind = mode::automatic;
    std::string name; ///< Only for `named`.
    /// Where a model takes either this or thinking, the request is sent without thinking. For
    /// requests that no other model call follows: thoughts must not be missing in the middle of a
    /// turn.
    bool instead_of_thinking = false;

    /// True if the model must call a tool.
    [[nodiscard]] bool forces_call() const noexcept {
        return kind == mode::required || kind == mode::named;
    }
};

/// "auto", "none", "required"; anything else is a tool's name.
[[nodiscard]] tool_choice tool_choice_from_string(std::string_view text);

/// The form that the text of an answer must have. The model server enforces it, as far as it can.
struct answer_format {
    std::string schema; ///< JSON Schema of the text, as text. Empty: any JSON object.
    /// 1 to 64 characters from A-Z a-z 0-9 _ -, for servers that demand one.
    std::string name = "reply";
    /// The server must guarantee the schema. It refuses schemas for which it cannot.
    bool strict = true;
};

/// The parameters of a model call besides its messages. The model server's default applies to each
/// absent one.
struct model_parameters {
    std::string model;
    std::optional<double> temperature;
    std::optional<std::int64_t> max_output_tokens;
    std::optional<runner::tool_choice> tool_choice;
    std::optional<bool> parallel_tool_calls;
    std::optional<std::string> reasoning_effort;
    std::optional<double> top_p;
    std::optional<std::vector<std::string>> stop; ///< The answer ends before any of these texts.
    std::optional<std::int64_t> seed;             ///< For answers that can be repeated.
    std::shared_ptr<const answer_format> format;  ///< Null if any text will do.
};

/// Limits for model_parameters::stop, above those of any known server that states one.
inline constexpr std::size_t stop_texts_max = 16;
inline constexpr std::size_t stop_text_bytes_max = 256;

/// True if `stop` keeps these limits and has no empty text.
[[nodiscard]] bool is_valid_stop(const std::vector<std::string>& stop) noexcept;

/// One model call. References are valid until ask() has returned.
struct model_request {
    model_parameters parameters;
    /// model_provider::name() of the provider that is asked. Data that a provider wants sent back
    /// goes to that provider alone.
    std::string_view provider = {};
    std::string_view thread = {}; ///< Id of the conversation, for prompt caches; may be empty.
    std::string_view run = {};    ///< Id of the run; may be empty. Never sent.
    /// Who asks, for the counting of usage: the owner of the conversation and the address of the
    /// client, which may be empty. Never sent.
    std::string_view principal = {};
    std::string_view address = {};
    std::string_view instructions; ///< System text; may be empty.
    /// Made by session::model_history(). The provider empties it once it has written the request,
    /// so that a long history takes no memory while the model answers.
    std::vector<session::message>* messages = nullptr;
    /// Approximate size of the messages. A large request is written where it blocks no I/O thread.
    std::uint64_t bytes = 0;
    /// Counts the messages and the request that is written from them; may be null. The provider
    /// shrinks it to what it still keeps, and to 0 once the server has the request.
    memory_share* memory = nullptr;
    const std::vector<tool_definition>* tools = nullptr;
    /// Tools that a message names (session::prompt_record::tools) are told with it, not in the list
    /// (added_tools). Only for a provider that adds_tools().
    bool adds_tools = false;
    /// The stop of the run; may be null. A provider that awaits something before it asks its server
    /// looks at it right before it asks: a cancellation arrives later than a stop.
    const stop_source* stop = nullptr;
};

/// A tool that the model's server executes by itself while it answers, such as a web search.
enum class hosted_tool { running, completed, failed };

/// An image or an audio that a model made, complete, or the reason why there is none.
struct generated_media {
    enum class kind { image, audio };
    kind what = kind::image;
    std::string_view bytes;      ///< Empty if there is a problem.
    std::string_view transcript; ///< The words of an audio, in UTF-8; may be empty.
    /// Why the medium is not kept, a literal that may follow "it"; empty if it can be.
    std::string_view problem;
};

/// Receives an answer while it streams. Called on the executor that runs ask(); must not block.
/// Views are valid during the call only. No delta is empty. Text, reasoning and calls may
/// alternate, and several calls may be open at a time.
class model_sink {
public:
    virtual ~model_sink() = default;
    /// The server has accepted the request and begun a good answer. Called at most once, possibly
    /// after the first deltas; some providers never call it.
    virtual void on_begin() {}
    virtual void on_text(std::string_view delta) = 0;
    virtual void on_reasoning(std::string_view delta) = 0;
    /// A new call. `call` counts from 0 in this answer; `id` is empty if the server sent none.
    virtual void on_call(std::size_t call, std::string_view id, std::string_view name) = 0;
    virtual void on_call_arguments(std::size_t call, std::string_view delta) = 0;
    /// The call's arguments are complete, and clients may act on the call. Calls without this
    /// notice are complete when the answer is.
    virtual void on_call_end(std::size_t call);

    /// The model's server begins or ends the execution of a hosted tool; `id` is unique in the
    /// answer. The end may come in the answer after a pause. The name is empty at the end.
    virtual void on_hosted_tool(std::string_view id, std::string_view name, hosted_tool state);

    /// The model made an image or an audio. Its words, if any, are told as text, too.
    virtual void on_media(const generated_media& made);
    /// A medium arrives in pieces, and the provider is about to hold `bytes` of it. Returns why it
    /// must not, as generated_media::problem; empty if it may.
    [[nodiscard]] virtual std::string_view on_media_bytes(std::size_t bytes);

    /// Everything between these two calls came from one read of the network. The sink may publish
    /// it together, at end_batch() or after the handlers that are ready.
    virtual void begin_batch() {}
    virtual void end_batch() {}

    /// Returns false while too much was delivered that is not yet stored or passed on. The provider
    /// then awaits room() before it reads more of the answer; it may still deliver what it has
    /// read.
    [[nodiscard]] virtual bool has_room() const noexcept { return true; }
    /// Completes when there is room again. May be cancelled (terminal).
    [[nodiscard]] virtual boost::asio::awaitable<void> room();

    /// Data that the server wants sent back in later requests, with the answer or with one of its
    /// calls. The sink does not look at it. A later value of a key replaces an earlier one.
    virtual void on_turn_data(std::string_view key, const boost::json::value& value);
    virtual void on_call_data(std::size_t call, const boost::json::value& value);
};

/// Tokens of one or several calls of one model. An absent count is unknown, not zero.
struct token_usage {
    std::string provider;
    std::string model;
    std::optional<std::int64_t> input_tokens;  ///< Includes cached and cache-write tokens.
    std::optional<std::int64_t> output_tokens; ///< Includes reasoning.
    std::optional<std::int64_t> reasoning_tokens;
    std::optional<std::int64_t> cached_input_tokens;
    std::optional<std::int64_t> cache_write_input_tokens;
};

/// Adds `more` to the entry of the same provider and model in `all`, or as a new entry. A count
/// that no call reported stays absent.
void add_usage(std::vector<token_usage>& all, const token_usage& more);

enum class finish_reason {
    stop,
    tool_calls,
    length,
    content_filter,
    /// The answer, which has no calls, is a part: sent back as it is, as the last message of the
    /// next request, it lets the model go on.
    pause,
    /// The server withdraws the answer, and refuses each request that holds the same user turn.
    refusal,
};

/// How a complete answer ended.
struct model_answer {
    finish_reason reason = finish_reason::stop;
    std::optional<token_usage> usage;
    /// The server's finish reason if it is unknown, without keys. Logged at debug level.
    std::string unknown_reason = {};
    /// Number of blocks of opaque data in the request that the server did not take as valid there,
    /// and its words about the first one, without keys. Logged at debug level.
    std::size_t invalid_blocks = 0;
    std::string invalid_block = {};
    /// The server will not get back all that it sent besides text and calls: that is too large, or
    /// could not be written again as it came.
    bool has_lost_data = false;
};

/// Why there is no complete answer. The sink keeps everything that was delivered to it.
struct model_failure {
    enum class kind {
        /// No connection, 408, 429, 5xx, an error in the stream, or a body that is not an answer.
        unavailable,
        lost,       ///< The answer had begun, but ended or broke without its end mark.
        rejected,   ///< Any other 4xx: the request is at fault.
        timeout,    ///< While connecting, before the first byte, or between two events.
        memory,     ///< The memory budget has no room for the answer.
        over_quota, ///< Not asked: the caller's quota is used up.
        uncounted,  ///< Not asked: the usage of the call could not be stored.
        cancelled,  ///< The coroutine was cancelled.
    };
    kind what = kind::unavailable;
    int status = 0;     ///< HTTP status; 0 if none was received.
    std::string detail; ///< For the log only: the failure in our own words.
    /// The server's own words, without keys, at most session::attempt_body_max bytes; may be empty.
    /// Kept with the failed attempts; its start is logged at debug level.
    std::string upstream = {};
    /// Time after which the server may be asked again; nullopt if the server does not say.
    std::optional<std::chrono::milliseconds> retry_after = {};
    /// The server's id of the request, which its support asks for; empty if it sent none.
    std::string request_id = {};
};

/// True if the gateway itself has refused the call: no server was asked, and asking another one
/// would not help.
[[nodiscard]] bool is_own_refusal(model_failure::kind what) noexcept;

/// How much of a server's error text is read. It is more than is kept, so that keys are cut out
/// before the text is cut.
inline constexpr std::size_t error_text_max = session::attempt_body_max + 4096;

[[noreturn]] void
throw_exception_from_error(const model_failure& error, const boost::source_location& where);

using model_outcome = boost::system::result<model_answer, model_failure>;

class model_circuit;

/// A model behind some dialect. One object serves any number of calls at a time, from any thread.
class model_provider {
public:
    virtual ~model_provider() = default;

    /// Its name among the configured models. Data that it wants sent back goes only to the provider
    /// of that name. Empty if it wants nothing sent back.
    [[nodiscard]] virtual std::string_view name() const noexcept { return {}; }

    /// Identifies the account with which its server is asked: opaque data of a server is valid for
    /// the account that got it. Holds no secret. The same after a key was replaced. May be empty.
    [[nodiscard]] virtual std::string_view account() const noexcept { return {}; }

    /// True if its server accepts the opaque data of an answer only together with the list of tools
    /// with which it made them. Otherwise the list may have changed.
    [[nodiscard]] virtual bool binds_tools() const noexcept { return false; }

    /// True if it can be told a tool with a message, so that the list of tools stays as it began
    /// (model_request::adds_tools).
    [[nodiscard]] virtual bool adds_tools() const noexcept { return false; }

    /// Counts its outages; null if nobody does. The loop reports each call to it.
    [[nodiscard]] virtual std::shared_ptr<model_circuit> circuit() const noexcept {
        return nullptr;
    }

    /// Asks once. On cancellation (terminal) it closes the connection to the model server and
    /// returns `cancelled`. Network and server failures never throw. Everything that the arguments
    /// refer to must outlive the await.
    [[nodiscard]] virtual boost::asio::awaitable<model_outcome>
    ask(const model_request& request, model_sink& sink) = 0;
};

} // namespace agui::runner
