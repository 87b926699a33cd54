#pragma once

#include "gateway/base/log_interval.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace agui::gateway {

/// Logs requests with a wrong token, at most one line per client a minute, and delays their
/// refusals, which slows guessing on each connection. A client with many connections still makes
/// many guesses, so a token must be too long to be guessed. Requests with the right token never
/// wait, even if they share the client's address. Remembers 64 clients; others count as one. Safe
/// to call from any thread.
class wrong_tokens {
public:
    using time_point = log_interval::time_point;

    explicit wrong_tokens(logger& log) : log_(log) {}
    wrong_tokens(const wrong_tokens&) = delete;
    wrong_tokens& operator=(const wrong_tokens&) = delete;

    /// Counts a request and returns the delay of its refusal: none for a client's first three
    /// between two calls of sweep(), then 100 ms more for each, up to 2 s.
    [[nodiscard]] std::chrono::milliseconds add(const std::string& client, time_point now);

    /// To be called once a minute: logs the requests counted since the last lines.
    void sweep(time_point now);

private:
    struct client_count {
        log_interval lines{std::chrono::minutes(1)};
        std::size_t unreported = 0;
        int recent = 0; ///< Since the last sweep().
    };

    void report(const std::string& client, client_count& count);

    logger& log_;
    mutex mutex_;
    std::map<std::string, client_count> clients_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
