#pragma once

#include "session/postgres/pg_gateway.hpp"
#include "session/postgres/pg_listener.hpp"
#include "session/postgres/pg_shared.hpp"
#include "session/postgres/pg_watch_table.hpp"
#include "session/store/store.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::session {

/// Who follows whose runs. A process that follows a run of another one has a row in
/// agui.run_watches and tells the process that has the run; that one notifies it from then on when
/// the run's log grows. Without a follower there is no notification at all: each costs its
/// transaction a lock of the whole server. Belongs to the store's thread, but for watch() and
/// set_handler().
class pg_watches final : public pg_listener::receiver {
public:
    /// `holds` says whether this process has a run. The arguments must outlive this.
    pg_watches(pg_shared& shared, pg_gateway& gateway, std::function<bool(std::int64_t run)> holds);
    ~pg_watches() override;

    /// As store::watch(). Any thread.
    [[nodiscard]] std::unique_ptr<run_watch>
    watch(std::int64_t run, const boost::asio::any_io_executor& executor) {
        return table_->watch(run, executor);
    }
    /// As store::set_peer_handler(). Any thread.
    void set_handler(peer_handler* handler) {
        const std::lock_guard lock(handler_mutex_);
        handler_ = handler;
    }
    /// As store::request_stop().
    [[nodiscard]] boost::asio::awaitable<result<void>> request_stop(stop_request request);

    /// Adds the notifications of the processes that follow one of the runs, which are this one's.
    void add_notifications(const std::vector<std::int64_t>& runs, pg_batch& to) const;
    /// The run has ended, and is no longer held here. Notifies those that follow it: a process that
    /// began to follow it while its end was being committed was not told by that.
    void end(std::int64_t run);

    /// The channels of a gateway of that number.
    [[nodiscard]] static std::vector<std::string> channels_of(std::int64_t gateway);
    /// Reads again who follows runs of this process: notifications may have been missed.
    void look_again();
    /// The process has a new number: what others know of it is out of date.
    void on_registered();

    /// Writes rows of watches and reads those of others until close(). To be called once.
    [[nodiscard]] boost::asio::awaitable<void> work();
    void close() noexcept;

    void on_listening() override;
    void on_notification(const pg_notification& heard) override;

private:
    struct follower {
        std::size_t readers = 0;
        /// Since when its row says that there are none; nullopt: it does not.
        std::optional<std::chrono::steady_clock::time_point> none_since;
    };
    using follower_map = std::map<std::int64_t, std::map<std::int64_t, follower>>;

    /// Runs, and the processes to be told of each.
    using notice_set = std::set<std::pair<std::int64_t, std::int64_t>>;

    [[nodiscard]] static pg_statement notify_of(const notice_set& notices);
    void on_watch(std::int64_t run, std::int64_t gateway, std::int64_t readers, leaving how);
    void
    on_row(std::int64_t run, std::int64_t gateway, std::int64_t readers, const follower& known);
    void on_stop(std::string_view payload);
    void tell_readers(std::int64_t run, std::int64_t gateway, std::size_t readers, leaving how);
    void tell(std::int64_t run, std::int64_t gateway);
    boost::asio::awaitable<void> write_changes();
    boost::asio::awaitable<void> tell_the_last();
    boost::asio::awaitable<void> write_notices();
    boost::asio::awaitable<void> read_followers();
    boost::asio::awaitable<void> send_probe();
    void on_probe();
    void check_probe();
    [[nodiscard]] std::chrono::steady_clock::duration next_look(bool has_failed) const;
    void wake() { timer_.cancel(); }

    pg_shared& shared_;
    pg_gateway& gateway_;
    std::mutex handler_mutex_;        ///< Also held during its calls.
    peer_handler* handler_ = nullptr; ///< Under handler_mutex_.
    const std::function<bool(std::int64_t run)> holds_;
    const std::shared_ptr<pg_watch_table> table_;
    /// Of runs of this process: which processes follow it, and how many readers they have.
    follower_map followers_;
    notice_set notices_; ///< To be sent.
    bool must_look_ = false;
    bool must_probe_ = false; ///< It listens since a moment: does it hear?
    /// Until when the notification to itself must have come; nullopt: it has, or none was sent.
    std::optional<std::chrono::steady_clock::time_point> probed_until_;
    bool is_deaf_ = false;            ///< And the log says so.
    std::optional<notice_set> heard_; ///< Followers that were heard of during a look.
    boost::asio::steady_timer timer_;
    bool is_closed_ = false;
};

} // namespace agui::session
