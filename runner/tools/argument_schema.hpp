#pragma once

#include "session/base/error.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>

namespace agui::runner {

/// A tool's JSON Schema, compiled once. Never changes; any thread.
///
/// Draft 7, as valijson 1.0 checks it, with strict types. Left out, because their cost has no bound
/// or because valijson gets them wrong: pattern, patternProperties (and additionalProperties beside
/// it), propertyNames, uniqueItems, format, a multipleOf that is not a whole number, and what later
/// drafts added. In a schema that leaves out anything, `not` and `if` are left out too, and oneOf
/// is checked as anyOf: a looser part must not make the whole stricter.
class argument_schema {
public:
    virtual ~argument_schema() = default;

    /// nullopt: they fit. Otherwise what the model is told: path and rule of the first violations,
    /// at most 1 KB. Arguments whose check takes too many steps, or too much stack, do not fit.
    [[nodiscard]] virtual std::optional<std::string> violation(const boost::json::object& arguments
    ) const = 0;
};

/// Null for a null schema: nothing is checked. errc::invalid_input for one that cannot be compiled,
/// is nested too deeply, is too large or refers to another document: nothing is ever fetched. The
/// failure's detail holds nothing of the schema.
[[nodiscard]] result<std::shared_ptr<const argument_schema>>
compile_argument_schema(const boost::json::value& schema);

} // namespace agui::runner
