#pragma once

#include "session/base/clock.hpp"
#include "session/base/log.hpp"
#include "session/store.hpp"

#include <boost/asio/awaitable.hpp>

namespace agui::gateway {

/// Ends the runs that a former process left active: what their logs left open is closed, a RUN_ERROR
/// `internal` follows, and their calls are dead. Pending calls of finished runs stay answerable. A run
/// that cannot be ended is logged and left for the next start.
[[nodiscard]] boost::asio::awaitable<void>
end_orphans(session::store& store, const clock& time, logger& log);

} // namespace agui::gateway
