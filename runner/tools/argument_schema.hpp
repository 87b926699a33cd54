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

/// Why the arguments of a call were refused.
struct argument_violation {
    std::string told;        ///< For the model, at most 1 KB: path and rule of up to 8 violations.
    std::string_view detail; ///< For the log. Holds no arguments.
};

/// A tool's JSON Schema, compiled once. Never changes; may be used on any thread.
///
/// It is draft 7 with strict types. Keywords of unbounded cost, and keywords whose meaning depends
/// on the draft, are ignored: pattern, patternProperties (and additionalProperties beside it),
/// propertyNames, uniqueItems, format, a multipleOf that is not a whole number, and all keywords of
/// later drafts. If a schema has such a keyword, `not` and `if` are ignored too, and oneOf is
/// checked as anyOf, because a looser part must not make the whole stricter.
class argument_schema {
public:
    explicit argument_schema(schema_rules rules);

    /// Returns nullopt if the arguments fit. Models write null for omitted arguments. If the
    /// arguments fit only without their null members, these are removed.
    ///
    /// Arguments that need more than the rest of `budget`, or that are nested too deeply, do not
    /// fit; the violation says so. Several calls usually share one `budget`.
    [[nodiscard]] std::optional<argument_violation>
    fit(boost::json::object& arguments, check_budget& budget) const;

    /// Number of its subschemas, each of a few hundred bytes.
    [[nodiscard]] std::size_t subschemas() const noexcept;

private:
    [[nodiscard]] std::optional<argument_violation>
    violation_of(boost::json::value& arguments, check_budget& budget) const;

    std::shared_ptr<const schema_rules> rules_;
};

/// Null for a null schema, which allows any arguments. Fails with errc::invalid_input like
/// compile_schema_rules(), whose comment also describes the cost. Nothing is ever fetched.
[[nodiscard]] result<std::shared_ptr<const argument_schema>>
compile_argument_schema(const boost::json::value& schema, std::size_t max_subschemas);
[[nodiscard]] result<std::shared_ptr<const argument_schema>>
compile_argument_schema(const boost::json::value& schema);

} // namespace agui::runner
