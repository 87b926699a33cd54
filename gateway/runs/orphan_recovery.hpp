#pragma once

#include "runner/tools/tool_registry.hpp"
#include "session/base/clock.hpp"
#include "session/base/id.hpp"
#include "session/base/log.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <vector>

namespace agui::gateway {

struct recovery_services {
    session::store& store;
    const runner::tool_registry& tools; ///< Tells the server's calls from the caller's.
    id_source& ids;
    const clock& time;
    logger& log;
};

/// Ends the runs that a former process left active, or whose end could not be stored. What their
/// logs left open is closed, calls of the server get an error result on the wire (they are not
/// executed again: whether they had an effect is unknown), RUN_ERROR `internal` follows. What the
/// model had said and the thread does not hold yet is rebuilt from the log and kept; the run's
/// calls without an answer are dead. Pending calls of finished runs stay answerable. Of all
/// threads, or of one, which the caller holds then. Returns the threads with a run that could not
/// be ended: to be tried again.
[[nodiscard]] boost::asio::awaitable<result<std::vector<session::thread_key>>>
end_orphans(recovery_services services, std::optional<session::thread_key> thread = std::nullopt);

} // namespace agui::gateway
