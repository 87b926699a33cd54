#pragma once

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

namespace agui::gateway {

class peer_door;

/// What all runs of the process share. The objects must outlive every run.
struct process_services {
    session::store& store; ///< For threads that are not ephemeral.
    /// Also tells the server's calls from the caller's.
    const runner::tool_registry& tools;
    id_source& ids;
    const clock& time;
    logger& log;
    memory_budget* memory = nullptr;              ///< Counts the events and threads of runs.
    const run_observer* observer = nullptr;       ///< Null: none.
    const runner::plugin_list* plugins = nullptr; ///< Null: none.
    const part_links* links = nullptr; ///< To parts that snapshots leave out; null: none.
    peer_door* peers = nullptr;        ///< To other gateways; null: none can be asked.
    heavy_work* heavy = nullptr; ///< For large requests and threads; null: all is done at once.
};

} // namespace agui::gateway
