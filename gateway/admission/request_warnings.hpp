#pragma once

#include "gateway/base/warned_names.hpp"
#include "gateway/run/run_settings.hpp"
#include "session/base/log.hpp"
#include "translator/input/run_input.hpp"

namespace agui::gateway {

/// Logs which parts of a request have no effect. A client sends the same ones each time: of unknown
/// members, `resume` entries and models there is one line per name an hour (`told`). Everything
/// that was left out of messages and tools is one line per request.
void warn_of_ignored_parts(
    logger& log, warned_names& told, const translator::run_input& input, const agent_entry& agent
);

} // namespace agui::gateway
