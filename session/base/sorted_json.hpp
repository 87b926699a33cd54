#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>

namespace agui {

/// A text, close to JSON, that is equal for values that differ only in the order of members.
/// Numbers are compared as they are written: 1 is not 1.0. Recursive, as deep as the value.
[[nodiscard]] std::string sorted_json(const boost::json::value& value);
[[nodiscard]] std::string sorted_json(const boost::json::object& object);

} // namespace agui
