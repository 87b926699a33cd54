#pragma once

#include "gateway/log/event_log.hpp"
#include "gateway/run/conversation_key.hpp"
#include "gateway/run/requested_run.hpp"
#include "gateway/run/run_core.hpp"
#include "gateway/run/run_registry.hpp"
#include "session/conversation/thread.hpp"
#include "session/store/lease.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::gateway {

/// An accepted request; readers of its events may already wait on `log`. Move-only. While it
/// exists, repeats of the request wait, stops reach it, and a drain waits for it. If it is
/// destroyed without begin_run(), nothing was stored.
struct accepted_run {
    std::shared_ptr<event_log> log;
    /// Id of the run whose events are in `log`. It differs from the id in the request if the
    /// request repeats another one by its idempotency key.
    std::string run_id;

    /// State for begin_run(), in the order of acquisition; it is released in reverse order.
    struct admitted {
        std::shared_ptr<run_core> core;
        boost::asio::any_io_executor executor; ///< The executor of the run.
        requested_run what;
        /// Calls that the request's messages hold without a result.
        std::vector<session::tool_call> unanswered;
        const agent_entry* agent = nullptr;
        std::string digest;
        conversation_key conversation;
        /// The thread when the request arrived. Empty if it did not exist or was not read.
        std::optional<session::thread_record> thread;
        bool is_thread_read = false;
        memory_share thread_memory; ///< Memory of `thread` until the run has begun.
        std::unique_ptr<run_registry::arrival> arrival;
        /// Null without an idempotency key.
        std::unique_ptr<run_registry::key_lock> idempotency_lock;
        std::unique_ptr<run_registry::key_lock> id_lock; ///< The runId's.
        /// The thread's lock, held until the run has begun. Null unless new messages supersede
        /// active runs: otherwise requests for one thread need not begin in order.
        std::unique_ptr<run_registry::key_lock> thread_lock;
        std::unique_ptr<run_registry::admission> admission;
        /// Its place among the runs of its principal (quotas::admit_run()); may be null.
        std::shared_ptr<const void> quota_place;
        /// The lease of the thread, once acquired. Code that fails afterwards must release it.
        session::lease_ptr held;

        // With run_settings::queue:

        /// The stored request, if it is already in the thread's queue, for example from an earlier
        /// process.
        std::optional<session::queued_request> queued;
        /// Held with `queued`, so that no run takes the queued request unnoticed. Null once the
        /// request waits.
        std::unique_ptr<run_registry::key_lock> queue_lock;
        /// The store's queue of the thread held other requests.
        bool others_queued = false;
        /// Gateway number of the other process in which the first of them waits; 0 if there is none
        /// or it is unknown.
        std::int64_t queue_gateway = 0;
        /// Set while the request waits in the queue. Its run takes all waiting messages.
        std::shared_ptr<waiting_run> waiting;
        /// Set once its run has taken messages from the queue.
        std::shared_ptr<queue_batch> batch;
    };
    /// Null if the request repeats a run, to which `log` belongs. Then there is nothing to begin.
    std::unique_ptr<admitted> to_begin;
};

} // namespace agui::gateway
