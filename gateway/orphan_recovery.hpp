#pragma once

#include "runner/tool_registry.hpp"
#include "session/base/clock.hpp"
#include "session/base/id.hpp"
#include "session/base/log.hpp"
#include "session/store.hpp"

#include <boost/asio/awaitable.hpp>

namespace agui::gateway {

struct recovery_services {
    session::store& store;
    const runner::tool_registry& tools; ///< Tells the server's calls from the caller's.
    id_source& ids;
    const clock& time;
    logger& log;
};

/// Ends the runs that a former process left active. What their logs left open is closed, calls of the
/// server get an error result on the wire (they are not executed again: whether they had an effect is
/// unknown), RUN_ERROR `internal` follows. What the model had said and the thread does not hold yet is
/// rebuilt from the log and kept; the run's calls without an answer are dead. Pending calls of finished
/// runs stay answerable. A run that cannot be ended is logged and left for the next start.
[[nodiscard]] boost::asio::awaitable<void> end_orphans(recovery_services services);

} // namespace agui::gateway
