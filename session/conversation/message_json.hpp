#pragma once

#include "session/conversation/message.hpp"

#include "session/base/error.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace agui::session {

/// The message in AG-UI's JSON form: members without a value are left out, never null.
[[nodiscard]] boost::json::object to_json(const message& value);

/// The message as stores keep it: to_json and, where it has one, its `origin`, which is shown to
/// nobody else.
[[nodiscard]] boost::json::object to_stored_json(const message& value);
/// Reads what to_stored_json wrote, and what to_json writes. Failures as for message_from_json.
[[nodiscard]] result<message> message_from_stored_json(const boost::json::value& value);

/// Reads what to_json wrote, and any AG-UI message: null optionals count as absent, unknown members
/// are ignored, `tool_id` is accepted for `toolCallId` and `tool_name` for `name`. A
/// known member of a wrong type, a missing required one (role; toolCallId of a tool message) or an
/// unknown role is errc::invalid_input with `path` relative to the message
/// (`toolCalls[0].function.name`). A missing `id` is the empty string: the caller decides whether
/// that is legal.
[[nodiscard]] result<message> message_from_json(const boost::json::value& value);

} // namespace agui::session
