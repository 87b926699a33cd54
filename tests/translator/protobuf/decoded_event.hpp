#pragma once

#include "tests/translator/protobuf/proto_file.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string_view>

namespace agui::test {

/// The JSON form of a message Event, read as the .proto file says, without the tables of the
/// encoder. A std::runtime_error says what is wrong with it.
[[nodiscard]] boost::json::object decode_event(const proto_file& proto, std::string_view bytes);

/// The event as it is expected from decode_event(): every number is a double, and an empty list is
/// absent where protobuf cannot tell the two apart.
[[nodiscard]] boost::json::value as_decoded(const boost::json::value& event);

} // namespace agui::test
