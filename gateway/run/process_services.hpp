#pragma once

#include "gateway/audit/audit_log.hpp"
#include "gateway/log/run_observer.hpp"
#include "gateway/run/part_links.hpp"
#include "runner/hooks/plugin.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/clock.hpp"
#include "session/base/id.hpp"
#include "session/base/log.hpp"
#include "session/base/memory_budget.hpp"
#include "session/store/store.hpp"

namespace agui {
class heavy_work;
}

namespace agui::runner {
class prefix_watch;
}

namespace agui::gateway {

class peer_door;
class quotas;

/// Services shared by all runs of the process. The objects must outlive every run.
struct process_services {
    session::store& store; ///< Store of threads that are not ephemeral.
    /// Also distinguishes the server's calls from the caller's.
    const runner::tool_registry& tools;
    id_source& ids;
    const clock& time;
    logger& log;
    memory_budget* memory = nullptr;              ///< Counts the events and threads of runs.
    const run_observer* observer = nullptr;       ///< May be null.
    const runner::plugin_list* plugins = nullptr; ///< May be null.
    /// Makes links to parts that snapshots leave out; may be null.
    const part_links* links = nullptr;
    peer_door* peers = nullptr; ///< Sends requests to other gateways; null if none can be reached.
    /// Runs work on large requests and threads. If null, it is done inline.
    heavy_work* heavy = nullptr;
    audit_log* audit = nullptr;               ///< May be null.
    runner::prefix_watch* prefixes = nullptr; ///< For agents whose prefix is checked; may be null.
    quotas* limits = nullptr;                 ///< Null without [[quotas]].
};

} // namespace agui::gateway
