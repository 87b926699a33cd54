#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace agui::runner {

/// Turns any JSON Schema of a tool's arguments into the form that every model server accepts: an
/// object with `"type":"object"` and `properties`. A list of types becomes `object`, since a call's
/// arguments are an object. A reference at the top is replaced by the part of the schema that it
/// names. Null members are dropped. A schema of other values, or a value that is no schema, becomes
/// one without properties.
///
/// OpenAI and Anthropic answer 400 to a tool whose schema has choices at the top. So `anyOf`,
/// `oneOf` and `allOf` are replaced there by the properties of all choices. A property is then
/// required if every choice (of `allOf`, any choice) requires it. `not` and `enum` are dropped
/// there.
[[nodiscard]] boost::json::object tool_schema(const boost::json::value& given);

/// False if the schema describes values that are no objects, such as lists: no arguments fit it.
[[nodiscard]] bool describes_objects(const boost::json::value& schema);

} // namespace agui::runner
