#pragma once

#include "session/base/error.hpp"
#include "session/conversation/message.hpp"
#include "translator/input/run_input.hpp"

#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <vector>

namespace agui::translator {

/// Reads one message, at `path` of the request, as read_messages() does. nullopt: its role is
/// unknown.
[[nodiscard]] result<std::optional<session::message>> read_message(
    const boost::json::value& given, const std::string& path, const input_limits& limits,
    std::vector<std::string>& notes
);

/// Reads the request's `messages`. Messages with an unknown role are dropped with a note. Parts are
/// returned in the modern form with known members only, so that stored parts can be sent unchanged
/// in a MESSAGES_SNAPSHOT: legacy `binary` parts are upgraded (the file name becomes
/// metadata.filename). Dropped with a note are binary parts that repeat a modern part or hold only
/// a provider's id, and parts of an unknown kind or with an unknown kind of source. Failures:
/// invalid_input, also for more messages, parts or calls than `limits` allows.
[[nodiscard]] result<std::vector<session::message>> read_messages(
    const boost::json::value& given, const input_limits& limits, std::vector<std::string>& notes
);

} // namespace agui::translator
