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

/// Another gateway, under one of its numbers, as this one asks it. Safe to call from any thread.
class peer : public std::enable_shared_from_this<peer> {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// `own` is the number that this gateway asks under. Without `client` it cannot be asked. `log`
    /// must outlive this.
    peer(
        std::int64_t own, session::peer_address address,
        std::shared_ptr<runner::http_client> client, logger& log,
        std::chrono::milliseconds ping_period = std::chrono::seconds(1)
    );

    /// True: it could not be asked a moment ago, or it is another process by now.
    [[nodiscard]] bool is_down(time_point now) const;
    /// False: it has not answered the last time. Then it is pinged on `executor`, by one at a time
    /// and after each pause, until it answers.
    [[nodiscard]] bool answers(const boost::asio::any_io_executor& executor);

    /// Whether the pause after a failure ends a request before it is sent.
    enum class in_pause { is_refused, is_sent };
    /// Sends a request and returns once the head of the answer has come, whose status is 200 or
    /// 204. errc::store_unavailable: it cannot be asked, has not answered within `time`, or has
    /// answered something else; that is logged once a minute. `is_sent`: false if it has certainly
    /// not been carried out.
    [[nodiscard]] boost::asio::awaitable<result<std::unique_ptr<runner::transport_response>>> send(
        runner::http_method method, std::string_view path, std::string body,
        std::chrono::milliseconds time, in_pause what = in_pause::is_refused,
        bool* is_sent = nullptr
    );
    /// Its answer makes no sense. Returns what the caller may say of it.
    [[nodiscard]] failure not_understood();

    /// One stream from it, while it exists. While there are any, the gateway is pinged once in each
    /// period, and if three pings in a row find no answer, all streams are cut.
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
    const std::shared_ptr<runner::http_client> client_; ///< Null: it cannot be asked.
    logger& log_;
    const std::chrono::milliseconds ping_period_;

    mutable mutex mutex_; ///< Also held during the calls of stream::cut_.
    time_point down_until_ AGUI_GUARDED_BY(mutex_){};
    int failures_ AGUI_GUARDED_BY(mutex_) = 0;     ///< Since the last answer.
    bool probing_ AGUI_GUARDED_BY(mutex_) = false; ///< answers() pings.
    log_interval unreachable_ AGUI_GUARDED_BY(mutex_){std::chrono::minutes(1)};
    std::list<stream*> streams_ AGUI_GUARDED_BY(mutex_);
    /// Told when no stream is left; null: no ping runs.
    std::shared_ptr<change_signal> beating_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
