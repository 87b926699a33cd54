#pragma once

#include "session/conversation/message.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/json/array.hpp>

#include <vector>

namespace agui::translator {

/// Stored messages as the `messages` member of an event. v1_0: without `encryptedValueType`.
/// undeclared: besides, a tool message's parts as one text, no parts with a `file` source, no part
/// ids: what a client before 1.0 refuses (reference 0.4). A pure function, ids and order stay (S3).
[[nodiscard]] boost::json::array
wire_messages(const std::vector<session::message>& messages, projection form);

} // namespace agui::translator
