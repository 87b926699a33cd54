#pragma once

#include "gateway/log/event_log.hpp"
#include "gateway/run/conversation_key.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace agui::gateway {

// Runs that another process on the same store has, read here: that process shows the entries of
// their logs (peer_door), and its readers here count there as one. While it cannot be asked, the
// store is read.

/// The log of a run that the process `gateway` has (session::thread_holder; 0: it is looked up). It
/// grows until the run has ended, as long as somebody holds it; readers of one run share one. If
/// the run is lost, it is recovered, and the log ends as that says. A run without a number is a
/// request that waits in the queue there (find_queued()). Errors: as store::read_log();
/// errc::overloaded. The references must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>> followed_log(
    run_core& core, const conversation_key& place, const session::run_record& run,
    std::int64_t gateway
);

/// The same with a log that exists, whose events so far are the first of the run.
[[nodiscard]] boost::asio::awaitable<result<void>> follow_run(
    run_core& core, const conversation_key& place, const session::run_record& run,
    std::int64_t gateway, const std::shared_ptr<event_log>& log
);

/// The readers of a run of this process that another one may have by now go on with what the store
/// has, once it can be read. If it has less than they may have seen, or cannot be read for another
/// reason than that it is away, they get `events`. On the run's executor; does not wait.
void go_on_elsewhere(run_core& core, const live_run& run, std::vector<std::string> events);

} // namespace agui::gateway
