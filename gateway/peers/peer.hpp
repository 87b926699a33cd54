#pragma once

#include "gateway/base/log_interval.hpp"
#include "gateway/run/peer_door.hpp"
#include "runner/http/http_client.hpp"
#include "session/base/change_signal.hpp"
#include "session/base/error.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"
#include "session/store/store.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace agui::gateway {

/// Client for one other gateway, under one of its numbers. Safe to call from any thread.
class peer : public std::enable_shared_from_this<peer> {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// `own` is this gateway's number in requests. If `client` is null, the other gateway cannot be
    /// reached. `log` must outlive this.
    peer(
        std::int64_t own, session::peer_address address,
        std::shared_ptr<runner::http_client> client, logger& log,
        std::chrono::milliseconds ping_period = std::chrono::seconds(1)
    );

    /// Returns true during the pause after a failure, for example if another process has its
    /// address, and always without a client.
    [[nodiscard]] bool is_down(time_point now) const;
    /// Returns false if the last request failed. Then the gateway is pinged on `executor`, with one
    /// ping at a time and a pause after each failure, until it answers.
    [[nodiscard]] bool answers(const boost::asio::any_io_executor& executor);

    /// Decides whether a request during the pause after a failure is refused or sent.
    enum class in_pause { is_refused, is_sent };
    /// Sends a request and returns once the head of the answer has arrived, with status 200 or 204.
    /// errc::store_unavailable: the gateway cannot be reached, has not answered within `time`, or
    /// has answered with another status; that is logged once a minute. Sets `is_sent` to false if
    /// the request was certainly not carried out.
    [[nodiscard]] boost::asio::awaitable<result<std::unique_ptr<runner::transport_response>>> send(
        runner::http_method method, std::string_view path, std::string body,
        std::chrono::milliseconds time, in_pause what = in_pause::is_refused,
        bool* is_sent = nullptr
    );
    /// To be called if an answer is malformed. Returns the failure for the caller to report.
    [[nodiscard]] failure not_understood();

    /// Registers a stream from this gateway while it exists. While there are streams, the gateway
    /// is pinged once per period. If three pings in a row get no answer, all streams are cut.
    class stream {
    public:
        /// `cut` is called on any thread, not during or after the destructor, and must not block.
        stream(
            std::shared_ptr<peer> of, const boost::asio::any_io_executor& executor,
            std::function<void()> cut
        );
        ~stream();
        stream(const stream&) = delete;
        stream& operator=(const stream&) = delete;

    private:
        friend class peer;
        const std::shared_ptr<peer> of_;
        const std::function<void()> cut_;
        std::list<stream*>::iterator place_;
    };

private:
    void note_failure(std::string_view reason);
    void note_answer();
    [[nodiscard]] boost::asio::awaitable<bool> ping();
    [[nodiscard]] boost::asio::awaitable<void>
    ping_while_streaming(std::shared_ptr<change_signal> changed);
    [[nodiscard]] bool has_streams();
    void cut_streams();

    const std::int64_t own_;
    const session::peer_address address_;
    const std::shared_ptr<runner::http_client> client_; ///< Null if it cannot be reached.
    logger& log_;
    const std::chrono::milliseconds ping_period_;

    mutable mutex mutex_; ///< Also held during the calls of stream::cut_.
    time_point down_until_ AGUI_GUARDED_BY(mutex_){};
    int failures_ AGUI_GUARDED_BY(mutex_) = 0;     ///< Number since the last answer.
    bool probing_ AGUI_GUARDED_BY(mutex_) = false; ///< A ping of answers() is running.
    log_interval unreachable_ AGUI_GUARDED_BY(mutex_){std::chrono::minutes(1)};
    std::list<stream*> streams_ AGUI_GUARDED_BY(mutex_);
    /// Notified when no stream is left. Null if ping_while_streaming() is not running.
    std::shared_ptr<change_signal> beating_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
