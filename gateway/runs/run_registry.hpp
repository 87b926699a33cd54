#pragma once

#include "gateway/base/change_signal.hpp"
#include "gateway/base/completion_event.hpp"
#include "gateway/runs/conversation_key.hpp"
#include "gateway/runs/early_stops.hpp"
#include "gateway/runs/live_run.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The activity of this process: active runs, requests that may become runs, and the logs of ended
/// runs that no store keeps. All functions may be called from any thread; the lock is never held
/// across an await.
class run_registry {
public:
    struct limits {
        std::size_t max_runs = 10'000;         ///< Requests being admitted included.
        std::size_t max_detached_runs = 1'000; ///< Runs that had readers and have none.
        std::chrono::seconds replay{600};      ///< How long keep_log() keeps a log.
        std::size_t kept_bytes = 256U << 20U;  ///< Limit of the kept logs: the oldest are dropped.
        gateway::early_stops::limits early_stops{};
    };

    explicit run_registry(limits bounds) : limits_(bounds), early_stops_(bounds.early_stops) {}
    run_registry(const run_registry&) = delete;
    run_registry& operator=(const run_registry&) = delete;

    // Runs under way.

    class arrival;
    /// The run replaces its request. Returns a reason if it must be stopped at once.
    [[nodiscard]] std::optional<runner::stop_reason>
    add(const std::shared_ptr<live_run>& run, arrival& request);
    void remove(const std::shared_ptr<live_run>& run) noexcept;
    /// The thread's run; null: it has none.
    [[nodiscard]] std::shared_ptr<live_run> active(const conversation_key& place) const;
    [[nodiscard]] std::size_t size() const;
    /// All of them, in no order.
    [[nodiscard]] std::vector<std::shared_ptr<live_run>> active_runs() const;

    /// Records that a run has no readers any more. If there are too many, returns the one without a
    /// reader for the longest time, for the caller to stop. Null: within the limit.
    [[nodiscard]] std::shared_ptr<live_run> add_detached(const std::shared_ptr<live_run>& run);

    // Logs of ended runs.

    void keep_log(const live_run& run);
    [[nodiscard]] std::shared_ptr<event_log>
    find_log(const conversation_key& place, const std::string& run_id) const;

    /// A log read from the store, as long as it has readers: readers of one run share it.
    void share_log(std::int64_t run_number, const std::shared_ptr<event_log>& log);
    [[nodiscard]] std::shared_ptr<event_log> find_shared_log(std::int64_t run_number) const;

    // Requests on their way in.

    /// Registers a request whose runId is known and whose first byte came at `received`, until the
    /// result is destroyed. A stop that came shortly before applies to it: see early_stops.
    [[nodiscard]] std::unique_ptr<arrival> arrive(
        conversation_key place, std::string run_id, std::chrono::steady_clock::time_point received
    );

    /// The run and requests that a stop has reached.
    class stopping;
    /// Stops the conversation's run and its accepted requests: those with that runId, or all if
    /// none is given. Kept for a request that may be arriving: a stop with an unknown runId, and
    /// every stop without one. Waiters for the thread check again.
    [[nodiscard]] stopping
    stop(const conversation_key& place, const std::optional<std::string>& run_id);
    /// The run with that id is not still to come: it has ended already.
    void forget_early_stop(const conversation_key& place, const std::string& run_id);

    /// Counts a request among the runs while it exists.
    class admission;
    /// errc::draining or errc::overloaded.
    [[nodiscard]] result<std::unique_ptr<admission>> admit();

    /// Holds the turn of one (conversation, runId) while it exists.
    class turn;
    /// Requests with the same runId pass one at a time, so that of several repeats one starts the
    /// run and the others find it.
    [[nodiscard]] boost::asio::awaitable<std::unique_ptr<turn>>
    take_turn(conversation_key place, std::string run_id);

    /// While it exists, reports events of a conversation's runs: a run's end, its last reader
    /// leaving, the end of a request that held the thread without becoming a run, a stop.
    class watch;
    [[nodiscard]] std::unique_ptr<watch>
    watch_place(conversation_key place, const boost::asio::any_io_executor& executor);

    // The way down.

    void begin_drain();
    /// Drains and stops every run: returns the active ones; for later ones add() returns a reason.
    [[nodiscard]] std::vector<std::shared_ptr<live_run>> begin_stop();
    [[nodiscard]] bool draining() const;
    /// Returns once there is no run and, when draining, none can come. Also waits for runs that are
    /// added in the meantime.
    [[nodiscard]] boost::asio::awaitable<void> wait_until_empty();

private:
    using run_name = std::pair<conversation_key, std::string>;
    using detached_list = std::list<std::shared_ptr<live_run>>;

    struct kept_log {
        std::shared_ptr<event_log> log;
        std::size_t bytes = 0;
        std::chrono::steady_clock::time_point until;
    };
    struct arriving;

    void end_arrival(const std::shared_ptr<arriving>& request, bool held_thread);
    void end_admission();
    void end_turn(const run_name& name);
    void forget_detached(const live_run* run);
    [[nodiscard]] std::vector<std::shared_ptr<change_signal>> watching(const conversation_key& place
    ) const;
    void notify(const conversation_key& place) const;
    [[nodiscard]] std::shared_ptr<live_run> any_run(std::shared_ptr<completion_event>& admitted);

    const limits limits_;
    mutable std::mutex mutex_;
    /// A run whose end is committed stays here briefly, while its thread may already have the next
    /// one.
    std::unordered_set<std::shared_ptr<live_run>> runs_;
    std::map<conversation_key, std::shared_ptr<live_run>> by_place_; ///< The newest of each.
    detached_list detached_; ///< The one without a reader for the longest time is first; readers
                             ///< may have come back since.
    std::unordered_map<const live_run*, detached_list::iterator> detached_places_;
    std::map<run_name, kept_log> kept_;
    std::deque<std::map<run_name, kept_log>::iterator> kept_in_order_; ///< Oldest first.
    std::size_t kept_bytes_ = 0;
    std::map<std::int64_t, std::weak_ptr<event_log>> shared_logs_; ///< By run number.
    std::multimap<conversation_key, std::shared_ptr<arriving>> arrivals_;
    gateway::early_stops early_stops_;
    std::map<run_name, std::shared_ptr<completion_event>> turns_;
    std::multimap<conversation_key, std::shared_ptr<change_signal>> watches_;
    std::size_t admissions_ = 0;
    std::shared_ptr<completion_event>
        no_admissions_; ///< Set once there are no admissions; null: nobody waits.
    bool draining_ = false;
    bool stopping_ = false;
};

/// Shared by an incoming request and the stops that reach it.
struct run_registry::arriving {
    run_name name;
    std::optional<runner::stop_reason> stop; ///< Under the registry's lock, like `run`.
    std::shared_ptr<live_run> run;           ///< The run it has become.
    completion_event over;                   ///< It has become a run, or never will.
};

class run_registry::arrival {
public:
    arrival(run_registry& owner, std::shared_ptr<arriving> request)
        : owner_(owner), request_(std::move(request)) {}
    ~arrival() { owner_.end_arrival(request_, holds_thread_); }
    arrival(const arrival&) = delete;
    arrival& operator=(const arrival&) = delete;

    /// It holds the thread: waiters for the thread are notified if it ends without a run.
    void holds_thread() noexcept { holds_thread_ = true; }
    /// True if its run, should there be one, must end at once.
    [[nodiscard]] bool stopped() const;

private:
    friend class run_registry;
    run_registry& owner_;
    std::shared_ptr<arriving> request_;
    bool holds_thread_ = false;
};

class run_registry::stopping {
public:
    /// False: there was nothing to stop.
    [[nodiscard]] bool any() const noexcept { return run_ != nullptr || !requests_.empty(); }
    /// Returns once all of them have ended. True: a run ended by this stop or another one.
    [[nodiscard]] boost::asio::awaitable<bool> wait();

private:
    friend class run_registry;
    std::shared_ptr<live_run> run_;
    std::vector<std::shared_ptr<arriving>> requests_;
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

class run_registry::watch {
public:
    watch(run_registry& owner, conversation_key place, std::shared_ptr<change_signal> signal);
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    /// Returns when something has happened since the last wait, or at `deadline`.
    [[nodiscard]] boost::asio::awaitable<void>
    wait_until(std::chrono::steady_clock::time_point deadline) {
        return signal_->wait_until(deadline);
    }

private:
    run_registry& owner_;
    const conversation_key place_;
    const std::shared_ptr<change_signal> signal_;
};

} // namespace agui::gateway
