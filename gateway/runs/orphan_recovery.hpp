#pragma once

#include "gateway/runs/process_services.hpp"
#include "session/base/error.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <vector>

namespace agui::gateway {

/// Ends orphans: runs that a former process left active, or whose end could not be stored. What is
/// open in their logs is closed, calls of the server get an error result on the wire (they are not
/// executed again: whether they had an effect is unknown), RUN_ERROR `internal` follows. What the
/// model had said and the thread does not hold yet is rebuilt from the log and kept; the run's
/// calls without an answer are dead. Pending calls of finished runs stay answerable. Of all
/// threads of `store`, which may be another one than that of `services`, or of one thread, which
/// the caller holds then. Returns the threads with an orphan that could not be recovered: to be
/// tried again. What is referred to must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::vector<session::thread_key>>> recover_orphans(
    process_services services, session::store& store,
    std::optional<session::thread_key> thread = std::nullopt
);

} // namespace agui::gateway
