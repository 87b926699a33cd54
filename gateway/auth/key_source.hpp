#pragma once

#include "gateway/auth/key_set.hpp"
#include "runner/http/http_client.hpp"
#include "session/base/error.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace agui::gateway {

/// The keys of an issuer: a fixed set, or one that is fetched from a server and fetched again when
/// it may have changed. Safe to call from any thread.
class key_source {
public:
    struct limits {
        /// Pause after a fetch: tokens with invented keys cause no more requests than this.
        std::chrono::milliseconds interval{10'000};
        /// Pause after the first failure, doubled with each further one up to `interval`.
        std::chrono::milliseconds first_pause{500};
        std::chrono::milliseconds time{5'000};    ///< For one fetch, also during a shutdown.
        std::chrono::milliseconds fresh{300'000}; ///< From this age on, renew() fetches.
        /// From this age on, keys that could not be fetched again are not used.
        std::chrono::milliseconds usable{86'400'000};
    };

    explicit key_source(key_set fixed);
    /// `client` sends GET requests to the set's URL. `log` must outlive it.
    key_source(std::shared_ptr<runner::http_client> client, limits bounds, logger& log);
    key_source(const key_source&) = delete;
    key_source& operator=(const key_source&) = delete;

    /// Null if the keys have not been fetched yet, or are too old. A set that was fetched again
    /// without a change stays the same object.
    [[nodiscard]] std::shared_ptr<const key_set> get() const;

    /// Fetches the keys, or waits for a fetch that is under way. Does nothing for a fixed set, and
    /// in the pause after a fetch. On failure the former keys stay. Returns false if it is unknown
    /// whether the issuer has other keys, because the last fetch has failed or has not ended. A
    /// cancelled caller waits until its fetch has ended, which others may wait for.
    [[nodiscard]] boost::asio::awaitable<bool> refresh();

    /// refresh(), if the keys are not fresh. To be called about once a minute.
    [[nodiscard]] boost::asio::awaitable<void> renew();

private:
    using time_point = std::chrono::steady_clock::time_point;
    enum class turn { fetch, wait, pause };
    class fetch_mark; ///< Ends a fetch, also if it throws or its coroutine is destroyed.

    [[nodiscard]] turn take_turn();
    [[nodiscard]] bool is_fetching() const;
    [[nodiscard]] bool has_failed() const;
    [[nodiscard]] boost::asio::awaitable<result<std::string>> fetch();
    [[nodiscard]] boost::asio::awaitable<result<std::string>> fetch_in_time();
    void end_fetch(const result<std::string>& text);
    /// Returns false if the text is not that of the present keys.
    [[nodiscard]] bool is_confirmed_by(const std::string& text);
    void count_success() AGUI_REQUIRES(mutex_);

    const std::shared_ptr<runner::http_client> client_; ///< Null for a fixed set.
    const limits limits_{};
    logger* const log_ = nullptr;
    mutable mutex mutex_;
    std::shared_ptr<const key_set> keys_ AGUI_GUARDED_BY(mutex_);
    std::string text_ AGUI_GUARDED_BY(mutex_); ///< From which keys_ were read.
    time_point fetched_ AGUI_GUARDED_BY(mutex_);
    time_point next_ AGUI_GUARDED_BY(mutex_); ///< No fetch before this.
    bool fetching_ AGUI_GUARDED_BY(mutex_) = false;
    /// Since the last success. A fetch under way counts until it succeeds.
    unsigned failures_ AGUI_GUARDED_BY(mutex_) = 0;
};

} // namespace agui::gateway
