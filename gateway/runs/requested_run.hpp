#pragma once

#include "gateway/runs/disconnect_policy.hpp"
#include "session/base/memory_budget.hpp"
#include "session/history/history_plan.hpp"
#include "translator/input/run_input.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace agui::gateway {

/// A run as a client has asked for it.
struct requested_run {
    std::string principal;
    std::string agent_id; ///< Empty: the default agent.
    translator::run_input input;
    std::string digest;         ///< input_digest() of its canonical form; empty: made of that.
    std::size_t body_bytes = 0; ///< Of the request; what it adds to its thread, about.
    memory_share memory;        ///< What the input takes; held until the run has begun.
    std::optional<disconnect_policy> on_disconnect;        ///< Of the header X-On-Disconnect.
    std::optional<session::client_history> client_history; ///< Of the header X-Client-History.
    std::string idempotency_key; ///< Of the header Idempotency-Key; empty: none.
    /// When its first byte came: a stop of the whole thread that was later is meant for it.
    std::chrono::steady_clock::time_point received = std::chrono::steady_clock::now();
};

} // namespace agui::gateway
