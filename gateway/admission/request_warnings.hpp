#pragma once

#include "gateway/base/warned_names.hpp"
#include "gateway/run/run_settings.hpp"
#include "session/base/log.hpp"
#include "translator/input/run_input.hpp"

namespace agui::gateway {

/// Logs which parts of a request have no effect. Unknown members, `resume` entries and models get
/// one line per name an hour (`told`), because clients repeat them. Parts left out of messages and
/// tools get one line per request.
void warn_of_ignored_parts(
    logger& log, warned_names& told, const translator::run_input& input, const agent_entry& agent
);

} // namespace agui::gateway
