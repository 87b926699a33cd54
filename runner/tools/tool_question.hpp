#pragma once

#include "session/conversation/input_question.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string_view>

namespace agui::runner {

class check_budget;

/// The member of `_meta` in the answer of a webhook, or of a tool of an MCP server, that asks a
/// person for input instead of giving a result:
///
///     {"message": TEXT, "responseSchema": JSON SCHEMA, "metadata"?: OBJECT}
inline constexpr std::string_view question_member = "org.agui-gateway/input";

/// The member of `_meta` in the parameters of an MCP call: tool_invocation::inputs.
inline constexpr std::string_view inputs_member = "org.agui-gateway/inputs";

/// The question in the `_meta` of an answer; nullopt if it has none. Members that are absent or of
/// the wrong form are empty. `answer` may have any members.
[[nodiscard]] std::optional<session::input_question> read_question(const boost::json::object& answer
);

/// Why a question cannot be asked, as a sentence without content: it has no text or no usable
/// schema, is larger than session::question_bytes_max, or is not UTF-8. Empty if it can.
[[nodiscard]] std::string_view question_problem(const session::input_question& question);

/// True if the answer fits the schema of its question, with the keywords that argument_schema
/// checks. False for a schema that cannot be compiled, and once `budget` is spent.
[[nodiscard]] bool fits_question(
    const boost::json::object& schema, const boost::json::value& answer, check_budget& budget
);

} // namespace agui::runner
