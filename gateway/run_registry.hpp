#pragma once

#include "gateway/completion_event.hpp"
#include "gateway/live_run.hpp"
#include "session/base/error.hpp"
#include "session/thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace agui::gateway {

/// What goes on in this process: the runs under way, the requests that are on their way to one, and the
/// logs of ended runs that no store keeps. All functions may be called from any thread; the lock is never
/// held across an await.
class run_registry {
public:
    struct limits {
        std::size_t max_runs = 10'000;         ///< Requests being admitted included.
        std::size_t max_detached_runs = 1'000; ///< Runs that nobody reads any more.
        std::chrono::seconds replay{600};      ///< How long keep_log() keeps.
        std::size_t kept_bytes = 256U << 20U;  ///< Of the logs kept: the oldest go first.
    };

    explicit run_registry(limits bounds) : limits_(bounds) {}
    run_registry(const run_registry&) = delete;
    run_registry& operator=(const run_registry&) = delete;

    // Runs under way.

    /// False: all runs are being stopped, this one is to be stopped as well.
    [[nodiscard]] bool add(const std::shared_ptr<live_run>& run);
    void remove(const std::shared_ptr<live_run>& run);
    /// The thread's run; null: it has none.
    [[nodiscard]] std::shared_ptr<live_run> active(const session::thread_key& key) const;
    [[nodiscard]] std::size_t size() const;

    /// Notes that nobody reads the run any more. What it returns has been without a reader for longest
    /// and is one too many: the caller stops it. Null: the bound holds.
    [[nodiscard]] std::shared_ptr<live_run> add_detached(const std::shared_ptr<live_run>& run);

    // Logs of ended runs.

    void keep_log(const live_run& run);
    [[nodiscard]] std::shared_ptr<run_log>
    find_log(const session::thread_key& key, const std::string& run_id) const;

    /// A log that was read from the store, for as long as somebody reads it: readers of one run share it.
    void share_log(std::int64_t run_number, const std::shared_ptr<run_log>& log);
    [[nodiscard]] std::shared_ptr<run_log> find_shared_log(std::int64_t run_number) const;

    // Requests on their way in.

    /// Counts a request among the runs while it exists.
    class admission;
    /// errc::draining or errc::overloaded.
    [[nodiscard]] result<std::unique_ptr<admission>> admit();

    /// Holds the turn of one (thread, runId) while it exists.
    class turn;
    /// Equal runIds pass one after the other, so that of several repeats one starts the run and the
    /// others find it.
    [[nodiscard]] boost::asio::awaitable<std::unique_ptr<turn>>
    take_turn(session::thread_key key, std::string run_id);

    // The way down.

    void begin_drain();
    /// Drains, and takes every run for one too many: those under way are returned, add() says so of later
    /// ones.
    [[nodiscard]] std::vector<std::shared_ptr<live_run>> begin_stop();
    [[nodiscard]] bool draining() const;
    /// Returns once there is no run and, when draining, none can come. Also waits for runs that are added
    /// meanwhile.
    [[nodiscard]] boost::asio::awaitable<void> wait_until_empty();

private:
    using run_name = std::pair<session::thread_key, std::string>;
    using detached_list = std::list<std::shared_ptr<live_run>>;

    struct kept_log {
        std::shared_ptr<run_log> log;
        std::size_t bytes = 0;
        std::chrono::steady_clock::time_point until;
    };

    void end_admission();
    void end_turn(const run_name& name);
    void forget_detached(const live_run* run);
    [[nodiscard]] std::shared_ptr<live_run> any_run(std::shared_ptr<completion_event>& admitted);

    const limits limits_;
    mutable std::mutex mutex_;
    /// A run whose end is committed stays here for a moment, while its thread may have the next one.
    std::unordered_set<std::shared_ptr<live_run>> runs_;
    std::map<session::thread_key, std::shared_ptr<live_run>> by_thread_; ///< The newest of each thread.
    detached_list detached_; ///< Without a reader for longest first; readers may have come back since.
    std::unordered_map<const live_run*, detached_list::iterator> detached_places_;
    std::map<run_name, kept_log> kept_;
    std::deque<std::map<run_name, kept_log>::iterator> kept_in_order_; ///< Oldest first.
    std::size_t kept_bytes_ = 0;
    std::map<std::int64_t, std::weak_ptr<run_log>> shared_logs_; ///< By run number.
    std::map<run_name, std::shared_ptr<completion_event>> turns_;
    std::size_t admissions_ = 0;
    std::shared_ptr<completion_event> no_admissions_; ///< Set once there are none; null: nobody waits.
    bool draining_ = false;
    bool stopping_ = false;
};

class run_registry::admission {
public:
    explicit admission(run_registry& owner) : owner_(owner) {}
    ~admission() { owner_.end_admission(); }
    admission(const admission&) = delete;
    admission& operator=(const admission&) = delete;

private:
    run_registry& owner_;
};

class run_registry::turn {
public:
    turn(run_registry& owner, run_name name) : owner_(owner), name_(std::move(name)) {}
    ~turn() { owner_.end_turn(name_); }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

private:
    run_registry& owner_;
    run_name name_;
};

} // namespace agui::gateway
