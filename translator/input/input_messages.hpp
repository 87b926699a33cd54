#pragma once

#include "session/base/error.hpp"
#include "session/conversation/message.hpp"
#include "translator/input/run_input.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <vector>

namespace agui::translator {

/// Reads the request's `messages`. Parts come out in the modern form with known members only, so
/// that what is stored can be sent in a MESSAGES_SNAPSHOT as it is: legacy `binary` parts are
/// upgraded (their file name becomes metadata.filename; one that repeats a modern part or holds
/// only a provider's id is dropped), unknown kinds of parts and sources are dropped with a note.
/// Failures: invalid_input.
[[nodiscard]] result<std::vector<session::message>> read_messages(
    const boost::json::value& given, const input_limits& limits, std::vector<std::string>& notes
);

} // namespace agui::translator
