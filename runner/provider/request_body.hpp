#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/base/tool_names.hpp"

#include <boost/json/object.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// The messages of a request; none if it has none.
[[nodiscard]] const std::vector<session::message>& messages_of(const model_request& request
) noexcept;

/// The text of a tool's result, and of its error for dialects without a member for it: after the
/// tool's own text.
[[nodiscard]] std::string result_text(const session::message& value);

/// Writes the body of a request, a JSON object, member by member. Members of `extra_body`, the
/// configured part, replace those of the dialect or, with null, remove them. Deterministic.
class request_body {
public:
    /// `extra_body` must outlive this object.
    explicit request_body(const boost::json::object& extra_body) : extra_(extra_body) {}

    /// Begins a member: the caller appends its value to text(). Returns false if `extra_body` has
    /// it.
    [[nodiscard]] bool begin(std::string_view name);
    /// The body so far, for values.
    [[nodiscard]] std::string& text() noexcept { return text_; }

    void text_member(std::string_view name, std::string_view value);
    void number_member(std::string_view name, std::int64_t value);
    /// The shortest text that reads back as the same number. A number that JSON cannot express is
    /// left out.
    void number_member(std::string_view name, double value);
    /// Nothing if there is no number.
    template <class Number>
    void number_member(std::string_view name, const std::optional<Number>& value) {
        if (value) {
            number_member(name, *value);
        }
    }
    void true_or_false(std::string_view name, bool value);
    /// `append` appends each value to text(). The list is not empty.
    template <class Value, class Append>
    void list_member(std::string_view name, const std::vector<Value>& values, Append append) {
        if (begin(name)) {
            for (const Value& each : values) {
                text_.push_back(&each == values.data() ? '[' : ',');
                append(each);
            }
            text_.push_back(']');
        }
    }
    void list_member(std::string_view name, const std::vector<std::string>& texts);
    /// A member with this JSON text.
    void raw_member(std::string_view name, std::string_view value);
    /// The member, whatever `extra_body` says.
    void begin_anyway(std::string_view name);

    /// The members of `extra_body` that are not null, except for these.
    void extra_members(const std::vector<std::string_view>& except = {});

    /// Ends the object. Called once.
    [[nodiscard]] std::string finish();

private:
    const boost::json::object& extra_;
    std::string text_ = "{";
};

// What OpenAI's two dialects write alike: the one puts some members into an object, which `begin`
// and `end` are, and the other does not.

/// Appends the form of an answer.
void append_answer_format(
    std::string& out, const answer_format& format, std::string_view begin = {},
    std::string_view end = {}
);

/// Appends a word or, with its name, the tool that is to be called.
void append_tool_choice(
    std::string& out, const tool_choice& choice, const tool_names& names,
    std::string_view begin = {}, std::string_view end = {}
);

/// Appends the members of a tool: name, description and schema, which each dialect calls otherwise.
void append_tool(
    std::string& out, const tool_definition& tool, const tool_names& names,
    std::string_view schema_name
);

} // namespace agui::runner
