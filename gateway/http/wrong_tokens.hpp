#pragma once

#include "gateway/base/log_interval.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace agui::gateway {

/// Requests with a wrong token: logs them, with one line per client a minute at most, and says how
/// long each refusal has to wait, which slows guessing on each connection. A client with many
/// connections still makes many guesses, so a token must be too long to be guessed. Requests with
/// the right token never wait, whoever else has the client's address. Remembers 64 clients; others
/// count as one. Safe to call from any thread.
class wrong_tokens {
public:
    using time_point = log_interval::time_point;

    explicit wrong_tokens(logger& log) : log_(log) {}
    wrong_tokens(const wrong_tokens&) = delete;
    wrong_tokens& operator=(const wrong_tokens&) = delete;

    /// Counts one. Returns how long its refusal has to wait: the first three of a client between
    /// two calls of sweep() do not, each later one 100 ms longer, up to 2 s.
    [[nodiscard]] std::chrono::milliseconds add(const std::string& client, time_point now);

    /// To be called once a minute: logs what was counted since the last lines.
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
