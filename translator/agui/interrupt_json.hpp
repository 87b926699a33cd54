#pragma once

#include "session/history/approval.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <vector>

namespace agui::translator {

/// The Interrupt object of an approval: reason `tool_call`, the call, a `responseSchema` for
/// {"approved","reason"?,"editedArgs"?}, the time of expiry as ISO 8601, and in its metadata the
/// tool and the arguments that are to be approved (without arguments of more than 64 KB, which the
/// messages hold). That of a question has the reason `input_required`, and message, schema and
/// metadata of its tool; `kind` and `toolName` of the metadata are always the gateway's.
[[nodiscard]] boost::json::object interrupt_json(const session::approval& asked);

/// The interrupts that one event shows, in order: as many as take at most `bytes_max` as JSON, and
/// at least the first. A client that answers these is asked for the others by the run of its
/// answer.
[[nodiscard]] boost::json::array
interrupts_json(const std::vector<session::approval>& asked, std::size_t bytes_max);

/// Puts the interrupts into the metadata of the last answer that makes calls, as
/// `custom.agui.interrupts`, from where assistant-ui restores them after a reload.
void add_interrupts(
    std::vector<session::message>& messages, const std::vector<session::approval>& open
);

} // namespace agui::translator
