#pragma once

#include "gateway/run/disconnect_policy.hpp"
#include "session/base/memory_budget.hpp"
#include "session/history/history_plan.hpp"
#include "translator/input/run_input.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {

/// A run that a client requests.
struct requested_run {
    std::string principal;
    std::string agent_id; ///< Empty: the default agent.
    translator::run_input input;
    std::string digest; ///< input_digest() of the canonical form; empty: computed when needed.
    std::size_t body_bytes = 0; ///< The request's size: about what it adds to its thread.
    memory_share memory;        ///< The input's memory; the run takes it over.
    std::optional<disconnect_policy> on_disconnect;        ///< From the header X-On-Disconnect.
    std::optional<session::client_history> client_history; ///< From the header X-Client-History.
    /// The input holds what is new and nothing else, whatever the configuration says of clients.
    bool only_new = false;
    /// Another process that has the thread is to answer instead: errc::thread_busy names it, at
    /// once.
    bool may_be_passed = false;
    /// A model that requests cannot choose is an error; otherwise the agent's own answers.
    bool known_model = false;
    /// Headers that tools may be passed; names in lower case.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string idempotency_key; ///< From the header Idempotency-Key; empty: none.
    /// When its first byte arrived: a stop of the whole thread that comes later applies to it.
    std::chrono::steady_clock::time_point received = std::chrono::steady_clock::now();
};

} // namespace agui::gateway
