#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace agui::runner {

/// The JSON Schema of a tool's arguments in the form that every model server takes, whatever was
/// given as one: an object with `"type":"object"` and, under it, `properties`. A list of types
/// becomes that one, since a call's arguments are an object; a reference at the top is replaced by
/// the part of the schema that it names; members that are null are absent. A schema of other
/// values, and anything that is no schema, is one without properties.
///
/// OpenAI and Anthropic answer 400 to a request that offers a tool with choices at the top of its
/// schema: `anyOf`, `oneOf` and `allOf` are replaced by the properties of all choices, those that
/// each choice requires being required; `not` and `enum` are left out there.
[[nodiscard]] boost::json::object tool_schema(const boost::json::value& given);

/// False for a schema of values that are no objects, such as lists: no arguments fit it.
[[nodiscard]] bool describes_objects(const boost::json::value& schema);

} // namespace agui::runner
