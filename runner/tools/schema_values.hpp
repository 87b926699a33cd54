#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agui::runner {

// The values of a JSON Schema's keywords. All throw schema_refused if a value has another form.

/// The schema cannot be compiled. `why` says so without text of the schema.
struct schema_refused {
    std::string_view why;
};

[[noreturn]] void refuse_schema_value();

[[nodiscard]] const boost::json::array& schema_list(const boost::json::value& value);
[[nodiscard]] const boost::json::object& schema_object(const boost::json::value& value);
[[nodiscard]] std::string_view schema_text(const boost::json::value& value);
/// A number of parts (`minItems`); the largest std::size_t if it has no room for the number.
[[nodiscard]] std::size_t schema_size(const boost::json::value& value);
/// The bits (json_type) of a type's name.
[[nodiscard]] std::uint8_t schema_type(const boost::json::value& value);

} // namespace agui::runner
