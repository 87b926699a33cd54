#include "runner/tools/tool_question.hpp"

#include "runner/base/json_members.hpp"
#include "runner/base/utf8.hpp"
#include "runner/tools/schema_check.hpp"
#include "runner/tools/schema_rules.hpp"
#include "session/base/finite_json.hpp"

#include <boost/json/serialize.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

// As deep as the answers of webhooks.
constexpr std::size_t question_depth_max = 64;

// Values must not stay in the memory resource of the parsed answer, which counts it.
json::object own_object(const json::object& from, std::string_view key) {
    const json::object* const found = runner::object_in(from, key);
    return found == nullptr ? json::object() : json::object(*found, json::storage_ptr());
}

} // namespace

std::optional<session::input_question> read_question(const json::object& answer) {
    const json::object* const meta = object_in(answer, "_meta");
    const json::object* const asked = meta == nullptr ? nullptr : object_in(*meta, question_member);
    if (asked == nullptr) {
        return std::nullopt;
    }
    return session::input_question{
        std::string(string_in(*asked, "message")), own_object(*asked, "responseSchema"),
        own_object(*asked, "metadata")
    };
}

std::string_view question_problem(const session::input_question& question) {
    if (question.message.empty() || question.schema.empty()) {
        return "The tool asked for input without a message or without a schema.";
    }
    const std::string text =
        json::serialize(json::array{question.message, question.schema, question.metadata});
    if (text.size() > session::question_bytes_max) {
        return "The tool asked for input with a question that is too large.";
    }
    if (!is_utf8(text) || !session::parse_arguments(text, question_depth_max)) {
        return "The tool asked for input with a question that cannot be shown.";
    }
    if (!compile_schema_rules(question.schema)) {
        return "The tool asked for input with a schema that cannot be used.";
    }
    return {};
}

bool fits_question(const json::object& schema, const json::value& answer, check_budget& budget) {
    const result<schema_rules> rules = compile_schema_rules(schema);
    return rules && check_against(*rules, answer, null_members::are_values, nullptr, budget) ==
                        check_result::fits;
}

} // namespace agui::runner
