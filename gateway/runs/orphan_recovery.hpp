#pragma once

#include "gateway/runs/process_services.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <vector>

namespace agui::gateway {

/// Ends orphans: runs that an earlier process left active, or whose end could not be stored. Closes
/// what is open in their logs; gives server calls an error result in the log (they are not executed
/// again, because nobody knows whether they had an effect); adds RUN_ERROR `internal`. Model output
/// that the thread does not hold yet is rebuilt from the log and kept; the run's unanswered calls
/// are dead. Pending calls of finished runs can still be answered. Recovers all threads of `store`,
/// which may be another one than that of `services`, or one thread, which the caller must hold.
/// Returns the threads with an orphan that could not be recovered, for another attempt; fails if
/// the orphans cannot be listed. What the arguments refer to must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::vector<session::thread_key>>> recover_orphans(
    process_services services, session::store& store,
    std::optional<session::thread_key> thread = std::nullopt
);

} // namespace agui::gateway
