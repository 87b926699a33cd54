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
    /// Of the run whose events these are. A request that repeats another one by its idempotency key
    /// has asked for a different id.
    std::string run_id;

    /// What begin_run() needs, in the order in which it was acquired; it is released in reverse.
    struct admitted {
        std::shared_ptr<run_core> core;
        boost::asio::any_io_executor executor; ///< The executor of the run.
        requested_run what;
        /// Calls that the request's messages hold without a result.
        std::vector<session::tool_call> unanswered;
        const agent_entry* agent = nullptr;
        std::string digest;
        conversation_key place;
        /// The thread as it was when the request came; nullopt: there was none, or it was not read.
        std::optional<session::thread_record> thread;
        bool is_thread_read = false;
        memory_share thread_memory; ///< What `thread` takes, until the run has begun.
        std::unique_ptr<run_registry::arrival> arrival;
        std::unique_ptr<run_registry::turn> key_turn; ///< Null: there is no idempotency key.
        std::unique_ptr<run_registry::turn> id_turn;
        /// Of the thread, until the run has begun. Null: the requests of a thread do not line up.
        std::unique_ptr<run_registry::turn> thread_turn;
        std::unique_ptr<run_registry::admission> admission;
        /// The thread, once the request has it. Whoever fails then must release it.
        session::lease_ptr held;

        // With run_settings::queue:

        /// The request itself, which an earlier process has left in the thread's queue.
        std::optional<session::queued_request> queued;
        /// With it: of the queue, so that no run takes it unseen. Null once it waits.
        std::unique_ptr<run_registry::turn> queue_turn;
        /// The queue held requests when the store was looked at.
        bool others_queued = false;
        /// The process in which they wait, if it is another one; 0: none, or not known.
        std::int64_t queue_gateway = 0;
        /// Set while it waits in the queue: its run takes the messages of all that wait.
        std::shared_ptr<waiting_run> waiting;
        /// Set once its run has taken the messages of requests in the queue.
        std::shared_ptr<queue_pass> pass;
    };
    /// Null: the request repeats a run, and `log` is that run's, so there is nothing to begin.
    std::unique_ptr<admitted> to_begin;
};

} // namespace agui::gateway
