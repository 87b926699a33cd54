#pragma once

#include "gateway/run/process_services.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

namespace agui::gateway {

/// Ends the orphans of a thread: runs left active by an earlier process or one that lost its
/// leases, or whose end could not be stored. Closes open messages and calls in their logs; gives
/// server calls an error result in the log (they are not executed again, because it is unknown
/// whether they had an effect); adds RUN_ERROR `internal`. Model output that the thread does not
/// hold yet is rebuilt from the log and kept; the run's unanswered calls are dead. Pending calls of
/// finished runs can still be answered. `held` is the caller's lease of the thread in `store`,
/// which may be another store than that of `services`. Returns true if all orphans of the thread
/// have ended; fails if they cannot be listed. With `releases`, the last end also frees the thread
/// if all have ended, so that a client that sees it can begin a run at once; the caller must
/// release it nevertheless. The referenced arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<bool>> recover_orphans(
    process_services services, session::store& store, session::lease_ptr held, bool releases
);

} // namespace agui::gateway
