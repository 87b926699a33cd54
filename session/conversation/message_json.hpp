#pragma once

#include "session/conversation/message.hpp"

#include "session/base/error.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace agui::session {

/// The message in AG-UI's JSON form: members without a value are left out, never null.
[[nodiscard]] boost::json::object to_json(const message& value);

/// The message as stores keep it: to_json() and, where it has them, `byPlugin`, `origin`,
/// `forModel`, `prompt` and the `parts` of an activity, which clients never see.
[[nodiscard]] boost::json::object to_stored_json(const message& value);
/// Reads the output of to_stored_json() or to_json(). An origin or a record of
/// the prompt that cannot be read is ignored.
/// Fails as message_from_json() does.
[[nodiscard]] result<message> message_from_stored_json(const boost::json::value& value);

/// Reads any AG-UI message, including the output of to_json(): a null member counts as absent,
/// unknown members are ignored, names in snake_case are accepted, and for a tool message also
/// `tool_id` instead of `toolCallId` and `tool_name` instead of `name`. errc::invalid_input, with
/// `path` relative to the message (`toolCalls[0].function.name`): a known member of a wrong type,
/// an unknown role, or a missing member of these: `role`, a tool message's `toolCallId`, a call's
/// `id` and `function.name`, a part's `type`, a text part's `text`. A missing `id` is the empty
/// string: the caller decides whether that is legal. The result does not use the memory resource of
/// `value`.
[[nodiscard]] result<message> message_from_json(const boost::json::value& value);

} // namespace agui::session
