#pragma once

#include "session/base/error.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

class check_budget;
struct schema_rules;

/// Why a tool is not called with some arguments.
struct argument_violation {
    std::string told;        ///< For the model, at most 1 KB: path and rule of up to 8 violations.
    std::string_view detail; ///< For the log: holds nothing of the arguments.
};

/// A tool's JSON Schema, compiled once. Never changes; any thread.
///
/// Draft 7, with strict types. Keywords are ignored if their cost has no bound or if drafts differ
/// about them: pattern, patternProperties (and additionalProperties beside it), propertyNames,
/// uniqueItems, format, a multipleOf that is not a whole number, and all that later drafts added.
/// If a schema has such a keyword, `not` and `if` are ignored too, and oneOf is checked as anyOf: a
/// looser part must not make the whole stricter.
class argument_schema {
public:
    explicit argument_schema(schema_rules rules);

    /// Returns nullopt if the arguments fit. Models write null for arguments that they leave out:
    /// if the arguments fit without their null members, these are removed.
    ///
    /// Arguments that need more than is left of `budget`, or that are nested too deeply, do not
    /// fit, and the violation says so. `budget` is usually that of several calls.
    [[nodiscard]] std::optional<argument_violation>
    fit(boost::json::object& arguments, check_budget& budget) const;

    /// Number of its subschemas, each of some hundred bytes.
    [[nodiscard]] std::size_t subschemas() const noexcept;

private:
    [[nodiscard]] std::optional<argument_violation>
    violation_of(boost::json::value& arguments, check_budget& budget) const;

    std::shared_ptr<const schema_rules> rules_;
};

/// Null for a null schema: nothing is checked. errc::invalid_input as compile_schema_rules(), which
/// also tells the cost. Nothing is ever fetched.
[[nodiscard]] result<std::shared_ptr<const argument_schema>>
compile_argument_schema(const boost::json::value& schema, std::size_t max_subschemas);
[[nodiscard]] result<std::shared_ptr<const argument_schema>>
compile_argument_schema(const boost::json::value& schema);

} // namespace agui::runner
