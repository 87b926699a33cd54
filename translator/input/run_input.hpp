#pragma once

#include "runner/base/model_provider.hpp"
#include "session/base/error.hpp"
#include "session/base/id.hpp"
#include "session/base/json_text.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/message.hpp"
#include "session/conversation/state_change.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

using session::state_bytes_max;
using session::state_too_large;

/// Limits of a request. A limit with a key in `[server]` has that key's default.
struct input_limits {
    std::size_t max_json_depth = 64;
    std::size_t max_messages = 10'000;
    std::size_t max_parts_per_message = 1'000; ///< Far more files than people attach.
    /// Models make a few calls at once; assistant-ui joins those of a whole turn, which may have
    /// about a hundred rounds.
    std::size_t max_calls_per_message = 2'000;
    std::size_t max_client_tools = 128;
    std::size_t max_tool_schema_bytes = 65'536; ///< Size of one tool's parameters, as compact JSON.
    /// Limit for ids and names of tools. Names must not begin with `mcp__`, as the server's own do.
    std::size_t max_id_bytes = id_bytes_max;
    /// The members of forwardedProps that are kept as forwarded_settings::prompt_values.
    std::vector<std::string> prompt_props = {};
};

struct context_entry {
    std::string description;
    std::string value;
};

struct resume_entry {
    std::string interrupt_id;
    bool cancelled = false; ///< status "cancelled"; otherwise "resolved".
    std::optional<boost::json::value> payload;
};

/// The known members of forwardedProps; all others are ignored.
struct forwarded_settings {
    std::optional<std::string> model; ///< `model`, `modelName`
    std::optional<double> temperature;
    std::optional<std::int64_t> max_output_tokens;
    std::optional<std::string> tool_choice;       ///< `tool_choice`, `toolChoice`
    std::optional<std::string> reasoning_effort;  ///< `reasoning_effort`, `reasoningEffort`
    std::optional<double> top_p;                  ///< `top_p`, `topP`
    std::optional<std::vector<std::string>> stop; ///< `stop`, `stop_sequences`: a text or a list
    std::optional<std::int64_t> seed;
    /// `response_format`, `responseFormat`; null for any text.
    std::optional<std::shared_ptr<const runner::answer_format>> response_format;
    bool ephemeral = false;
    /// Only for the history route: continue with the events of the active run.
    bool follow = false;
    /// The members in input_limits::prompt_props, made by session::prompt_value(): strings, with
    /// numbers and booleans in their JSON form.
    boost::json::object prompt_values;
    /// `command.resume`: the answer to an interrupt as clients send it that know only CUSTOM
    /// `on_interrupt` (custom_on_interrupt). The id is that of `command.interruptEvent`, the
    /// event's value; empty if it names none.
    std::optional<resume_entry> legacy_resume;
};

/// A parsed and limited RunAgentInput (AG-UI specification, basic/run-input).
struct run_input {
    std::string thread_id;
    std::string run_id;
    std::string parent_run_id;
    translator::projection projection = translator::projection::undeclared;
    std::optional<json_text> state;         ///< nullopt if absent or null.
    std::vector<session::message> messages; ///< A missing id is the empty string.
    /// nullopt without a `tools` member.
    std::optional<std::vector<runner::tool_definition>> tools;
    boost::json::array tools_json; ///< The accepted tools in the request's form, for the store.
    std::vector<context_entry> context;
    bool has_context = false; ///< The request has `context`, even if it is `[]`.
    forwarded_settings forwarded;
    std::vector<resume_entry> resume;
    /// A page of CopilotKit asks what the user might say next: its only tool is
    /// `copilotkitSuggest`, which toolChoice demands. Such a request is ephemeral.
    bool is_for_suggestions = false;
    /// The request as JSON with sorted keys, without its runId, and in forwardedProps without
    /// `apiKey`, `baseUrl`, `headers` and the like (is_secret_name): equal requests give equal text
    /// (P6).
    std::string canonical;
    /// Dropped parts of the request and their places; without content.
    std::vector<std::string> notes;
    /// The ignored unknown members of the request (document::skipped).
    std::vector<std::string> unknown_members;
};

/// Reads a request body. It is lenient toward real clients: a null member counts as absent; unknown
/// members are ignored without being built; messages with an unknown role, and parts of an unknown
/// kind, are dropped with a note; tool messages may have `tool_id` and `tool_name`; and at every
/// level, names in snake_case (`thread_id`, `tool_calls`, `mime_type`) are read if the camelCase
/// one is absent. `budget` (may be null) counts the memory for reading, but not the result.
/// Failures: invalid_json and overloaded (read_document), invalid_input with `path`
/// (`messages[2].toolCallId`), unsupported_protocol_version.
[[nodiscard]] result<run_input>
read_run_input(std::string_view body, const input_limits& limits, memory_budget* budget = nullptr);

/// A request body (any JSON value) as compact JSON text, checked and rewritten without building
/// values. Failures and budget as for read_run_input().
[[nodiscard]] result<json_text>
read_body_text(std::string_view body, std::size_t max_json_depth, memory_budget* budget = nullptr);

/// A small request body as a value. Failures as above.
[[nodiscard]] result<boost::json::value>
parse_body(std::string_view body, std::size_t max_json_depth);

} // namespace agui::translator
