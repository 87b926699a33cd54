#pragma once

#include "runner/base/model_provider.hpp"
#include "session/base/error.hpp"
#include "session/base/id.hpp"
#include "session/base/json_text.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/message.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// Limits of a request; each default is that of its key in `[server]`.
struct input_limits {
    std::size_t max_json_depth = 64;
    std::size_t max_messages = 10'000;
    std::size_t max_parts_per_message = 1'000; ///< People attach a few files.
    /// Models make a few at once; assistant-ui joins those of a whole turn, which may have about a
    /// hundred rounds.
    std::size_t max_calls_per_message = 2'000;
    std::size_t max_client_tools = 128;
    std::size_t max_tool_schema_bytes = 65'536; ///< Of one tool's parameters, as compact JSON.
    std::size_t max_id_bytes = id_bytes_max;
    /// Names must also match [A-Za-z0-9_.-]+, as model servers demand.
    std::size_t max_tool_name_bytes = 128;
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

/// What forwardedProps may set; everything else in it is ignored.
struct forwarded_settings {
    std::optional<std::string> model; ///< `model`, `modelName`
    std::optional<double> temperature;
    std::optional<std::int64_t> max_output_tokens;
    std::optional<std::string> tool_choice;      ///< `tool_choice`, `toolChoice`
    std::optional<std::string> reasoning_effort; ///< `reasoning_effort`, `reasoningEffort`
    bool ephemeral = false;
    /// History route: continue with the live run.
    bool follow = false;
};

/// RunAgentInput, read and bounded (AG-UI specification, basic/run-input).
struct run_input {
    std::string thread_id;
    std::string run_id;
    std::string parent_run_id;
    translator::projection projection = translator::projection::undeclared;
    std::optional<json_text> state;         ///< nullopt: absent or null.
    std::vector<session::message> messages; ///< Missing ids are the empty string.
    std::optional<std::vector<runner::tool_definition>> tools; ///< nullopt: no `tools` member.
    boost::json::array tools_json; ///< The accepted tools as given, for the store.
    std::vector<context_entry> context;
    bool has_context = false; ///< The request has `context`, even if it is `[]`.
    forwarded_settings forwarded;
    std::vector<resume_entry> resume;
    /// The request as JSON without its runId, with `apiKey`, `baseUrl`, `headers` and the like
    /// dropped from forwardedProps and keys sorted: equal requests give equal text (P6).
    std::string canonical;
    std::vector<std::string>
        notes; ///< What was dropped from the request, and where; without content.
    std::size_t unknown_members = 0; ///< Of the request itself, ignored.
};

/// Reads a request body. It is lenient towards what clients really send: null optional members
/// count as absent, unknown members are ignored without being built, unknown roles (if strings),
/// parts and source kinds are dropped with a note, `tool_id` and `tool_name` are accepted on tool
/// messages; the names of RunAgentInput are read in snake_case too, at every level (`thread_id`,
/// `tool_calls`, `mime_type`), where the camelCase one is absent. The memory used counts against
/// `budget`, if there is one, until the function returns. Failures: invalid_json
/// (document_reader.hpp), invalid_input with `path` (`messages[2].toolCallId`),
/// unsupported_protocol_version, overloaded.
[[nodiscard]] result<run_input>
read_run_input(std::string_view body, const input_limits& limits, memory_budget* budget = nullptr);

/// A request body as text, checked and rewritten without building values; failures as in
/// document_reader.hpp.
[[nodiscard]] result<json_text>
read_body_text(std::string_view body, std::size_t max_json_depth, memory_budget* budget = nullptr);

/// A request body as JSON; failures as in document_reader.hpp.
[[nodiscard]] result<boost::json::value>
parse_body(std::string_view body, std::size_t max_json_depth, memory_budget* budget = nullptr);

} // namespace agui::translator
