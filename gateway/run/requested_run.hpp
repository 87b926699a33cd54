#pragma once

#include "gateway/base/request_source.hpp"
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
    request_source source{}; ///< Without an address if no client has sent the request.
    std::string agent_id;    ///< Empty for the default agent.
    translator::run_input input;
    /// input_digest() of the canonical form. If empty, it is computed when needed.
    std::string digest;
    /// The request's size, which approximates its growth of the thread.
    std::size_t body_bytes = 0;
    memory_share memory;                            ///< The input's memory; the run takes it over.
    std::optional<disconnect_policy> on_disconnect; ///< From the header X-On-Disconnect.
    std::optional<session::client_history> client_history; ///< From the header X-Client-History.
    /// The input holds only new messages, whatever the configuration says about clients.
    bool only_new = false;
    /// If another process has the thread, fail at once with errc::thread_busy, which names that
    /// process, so that the request can be passed to it.
    bool may_be_passed = false;
    /// If true, an unselectable model is an error. Otherwise the agent's own model is used instead.
    bool known_model = false;
    /// Headers that tools may be passed; names in lower case.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string idempotency_key; ///< From the header Idempotency-Key; may be empty.
    /// When its first byte arrived. A later stop of the whole thread applies to it.
    std::chrono::steady_clock::time_point received = std::chrono::steady_clock::now();
};

} // namespace agui::gateway
