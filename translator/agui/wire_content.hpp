#pragma once

#include "session/conversation/message.hpp"
#include "translator/agui/protocol_version.hpp"
#include "translator/agui/snapshot_limit.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <vector>

namespace agui::translator {

/// Stored messages as the `messages` member of an event. v1_0: without `encryptedValueType`.
/// undeclared: also without content that a client before 1.0 refuses: a tool message's parts become
/// one text; parts with a `file` source, and the ids of parts, are dropped. All messages stay, with
/// their ids and in their order (S3). Activities are those of wire_activity().
[[nodiscard]] boost::json::array wire_messages(
    const std::vector<session::message>& messages, projection form, const part_link& link = {}
);

/// The content of an activity. If the activity has a data part, the link to it is added as `url`,
/// unless `link` is empty or returns an empty text.
[[nodiscard]] boost::json::object
wire_activity(const session::message& activity, const part_link& link);

/// Returns true if the undeclared form of the content keeps all text and media: it drops only a
/// tool message's non-text parts, and parts with a `file` source.
[[nodiscard]] bool is_whole_undeclared(const session::content& content, session::role role);

} // namespace agui::translator
