#pragma once

#include "gateway/base/completion_event.hpp"
#include "gateway/run/conversation_key.hpp"
#include "gateway/run/early_stops.hpp"
#include "gateway/run/live_run.hpp"
#include "session/base/change_signal.hpp"
#include "session/base/error.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The activity of this process: active runs, requests that may become runs, and logs of ended runs
/// that no store keeps. All functions may be called from any thread. Must outlive the objects that
/// it returns.
class run_registry {
public:
    struct limits {
        std::size_t max_runs = 10'000;         ///< Limit for active runs and admitted requests.
        std::size_t max_detached_runs = 1'000; ///< Limit for runs that had readers and have none.
        std::chrono::seconds replay{600};      ///< How long keep_log() keeps a log.
        std::size_t kept_bytes = 256U << 20U;  ///< Limit for kept logs; the oldest are dropped.
        gateway::early_stops::limits early_stops{};
    };

    explicit run_registry(limits bounds) : limits_(bounds), early_stops_(bounds.early_stops) {}
    run_registry(const run_registry&) = delete;
    run_registry& operator=(const run_registry&) = delete;

    // Active runs.

    class arrival;
    /// Registers a run, which its request has become. Returns a reason if it must be stopped at
    /// once.
    [[nodiscard]] std::optional<runner::stop_reason>
    add(const std::shared_ptr<live_run>& run, arrival& request);
    void remove(const std::shared_ptr<live_run>& run) noexcept;
    /// The active run of the thread, or null.
    [[nodiscard]] std::shared_ptr<live_run> active(const conversation_key& conversation) const;
    [[nodiscard]] std::size_t size() const;
    /// All active runs, in no particular order.
    [[nodiscard]] std::vector<std::shared_ptr<live_run>> active_runs() const;

    /// A limit for some of the runs without readers.
    struct detached_limit {
        std::function<bool(const live_run&)> counts;
        std::size_t max = 0;
    };
    /// Records that a run has lost its last reader. If there are too many such runs, returns the
    /// one without readers for the longest time, which the caller must stop. If there are too many
    /// for one of `others`, returns the longest of those that the same sender began, so that nobody
    /// can end the runs of somebody else. Otherwise returns null.
    [[nodiscard]] std::shared_ptr<live_run> add_detached(
        const std::shared_ptr<live_run>& run, const std::vector<detached_limit>& others = {}
    );

    // Logs of ended runs.

    /// Keeps the log of a run that no store keeps, within the limits.
    void keep_log(const live_run& run);
    /// A log that keep_log() keeps, or null.
    [[nodiscard]] std::shared_ptr<event_log>
    find_log(const conversation_key& conversation, const std::string& run_id) const;

    /// Lets later readers of the run use a log that was read from the store, as long as it exists.
    /// A null `log` removes it.
    void share_log(std::int64_t run_number, const std::shared_ptr<event_log>& log);
    [[nodiscard]] std::shared_ptr<event_log> find_shared_log(std::int64_t run_number) const;

    // Requests that may become runs.

    /// Registers a request, as soon as its runId is known, until the result is destroyed. Its first
    /// byte arrived at `received`. An earlier stop may apply to it (early_stops).
    [[nodiscard]] std::unique_ptr<arrival> arrive(
        conversation_key conversation, std::string run_id,
        std::chrono::steady_clock::time_point received
    );

    /// The run and the requests that a stop has reached.
    class stopping;
    /// Stops the conversation's run and its registered requests: those with that runId, or all
    /// without one. A stop without a runId, or with an unknown one, is also kept for requests that
    /// may be on their way. Requests that wait for the thread check again. Without a runId,
    /// requests received after `asked` are not stopped.
    [[nodiscard]] stopping stop(
        const conversation_key& conversation, const std::optional<std::string>& run_id,
        std::chrono::steady_clock::time_point asked = std::chrono::steady_clock::now()
    );
    /// Removes a stop that stop() has kept, because the run with that id has already ended.
    void forget_early_stop(const conversation_key& conversation, const std::string& run_id);

    /// Counts a request among the runs while it exists.
    class admission;
    /// At most an eighth of `max_runs`, and at least one, are minor runs at a time: there is one of
    /// these for each page and answer, and none of them may take the place of a conversation. They
    /// are suggestions and requests for titles.
    enum class importance { usual, minor };
    /// Fails with errc::draining or errc::overloaded.
    [[nodiscard]] result<std::unique_ptr<admission>> admit(importance of = importance::usual);

    /// Holds a key of a conversation (a runId or an idempotency key, among others) while it exists.
    class key_lock;
    /// Returns once no other request holds the key, so that of several repeats one starts the run
    /// and the others find it.
    [[nodiscard]] boost::asio::awaitable<std::unique_ptr<key_lock>>
    lock_key(conversation_key conversation, std::string key);

    /// While it exists, wakes its owner when something happens in a conversation: a run has ended
    /// or lost its last reader, a request that held the thread has ended without a run, or a stop
    /// came.
    class watch;
    /// Wakes all watchers of the conversation.
    void wake(const conversation_key& conversation) const noexcept;
    [[nodiscard]] std::unique_ptr<watch>
    watch_conversation(conversation_key conversation, const boost::asio::any_io_executor& executor);

    // Shutdown.

    /// Makes admit() refuse. Wakes the watchers of all conversations.
    void begin_drain();
    /// Makes admit() refuse, and all runs must end. Returns the active ones, which the caller must
    /// stop; for later ones add() returns a reason.
    [[nodiscard]] std::vector<std::shared_ptr<live_run>> begin_stop();
    [[nodiscard]] bool draining() const;
    /// Returns once there is neither an active run nor an admitted request. To be called after
    /// begin_drain(), so that none can come.
    [[nodiscard]] boost::asio::awaitable<void> wait_until_empty();

private:
    using run_name = std::pair<conversation_key, std::string>;
    using key_name = std::pair<conversation_key, std::string>;
    using detached_list = std::list<std::shared_ptr<live_run>>;

    struct kept_log {
        std::shared_ptr<event_log> log;
        std::size_t bytes = 0;
        std::chrono::steady_clock::time_point until;
    };
    struct arriving;
    /// Orders runs by their conversation, so that a set finds the run of a conversation.
    struct conversation_order {
        using is_transparent = void;
        using run_ptr = std::shared_ptr<live_run>;
        bool operator()(const run_ptr& a, const run_ptr& b) const {
            return a->conversation() < b->conversation();
        }
        bool operator()(const run_ptr& a, const conversation_key& b) const {
            return a->conversation() < b;
        }
        bool operator()(const conversation_key& a, const run_ptr& b) const {
            return a < b->conversation();
        }
    };

    void end_arrival(const std::shared_ptr<arriving>& request, bool held_thread);
    void end_admission();
    void unlock_key(const key_name& name);
    void forget_detached(const live_run* run) AGUI_REQUIRES(mutex_);
    [[nodiscard]] std::shared_ptr<live_run>
    detached_beyond(const detached_limit& limit, std::string_view sender) const
        AGUI_REQUIRES(mutex_);
    [[nodiscard]] std::vector<std::shared_ptr<change_signal>>
    watching(const conversation_key& conversation) const;
    [[nodiscard]] std::vector<std::shared_ptr<live_run>> all_runs() const AGUI_REQUIRES(mutex_);
    [[nodiscard]] std::shared_ptr<live_run> any_run(std::shared_ptr<completion_event>& admitted);

    const limits limits_;
    mutable mutex mutex_;
    /// The runs, with the times at which the first bytes of their requests arrived. A run whose end
    /// is committed stays here briefly, while its thread may already have the next one.
    std::unordered_map<std::shared_ptr<live_run>, std::chrono::steady_clock::time_point>
        runs_ AGUI_GUARDED_BY(mutex_);
    /// The newest run of each conversation.
    std::set<std::shared_ptr<live_run>, conversation_order> by_conversation_ AGUI_GUARDED_BY(mutex_
    );
    /// Ordered by time without readers, longest first. Readers may have come back.
    detached_list detached_ AGUI_GUARDED_BY(mutex_);
    std::unordered_map<const live_run*, detached_list::iterator>
        detached_places_ AGUI_GUARDED_BY(mutex_);
    std::map<run_name, kept_log> kept_ AGUI_GUARDED_BY(mutex_);
    /// Oldest first.
    std::deque<std::map<run_name, kept_log>::iterator> kept_in_order_ AGUI_GUARDED_BY(mutex_);
    std::size_t kept_bytes_ AGUI_GUARDED_BY(mutex_) = 0;
    /// By run number.
    std::map<std::int64_t, std::weak_ptr<event_log>> shared_logs_ AGUI_GUARDED_BY(mutex_);
    std::multimap<conversation_key, std::shared_ptr<arriving>> arrivals_ AGUI_GUARDED_BY(mutex_);
    gateway::early_stops early_stops_ AGUI_GUARDED_BY(mutex_);
    std::map<key_name, std::shared_ptr<completion_event>> key_locks_ AGUI_GUARDED_BY(mutex_);
    std::multimap<conversation_key, std::shared_ptr<change_signal>> watches_ AGUI_GUARDED_BY(mutex_
    );
    std::size_t admissions_ AGUI_GUARDED_BY(mutex_) = 0;
    /// Each minor run holds a copy, so that its count is that of the places in use, plus one.
    std::shared_ptr<const void> minor_places_ AGUI_GUARDED_BY(mutex_) = std::make_shared<char>();
    /// Set once there are no admissions. Null if nothing waits for that.
    std::shared_ptr<completion_event> no_admissions_ AGUI_GUARDED_BY(mutex_);
    bool draining_ AGUI_GUARDED_BY(mutex_) = false;
    bool stopping_ AGUI_GUARDED_BY(mutex_) = false;
};

/// State shared by a request and the stops that reach it. `stop` and `run` are changed under the
/// registry's lock.
struct run_registry::arriving {
    run_name name;
    std::chrono::steady_clock::time_point received; ///< When its first byte arrived.
    std::optional<runner::stop_reason> stop;
    std::shared_ptr<live_run> run; ///< The run that it has become.
    bool ended_by_stop = false;    ///< It was visible to clients, and a stop has ended it.
    completion_event over;         ///< It has become a run, or never will.
};

class run_registry::arrival {
public:
    arrival(run_registry& owner, std::shared_ptr<arriving> request)
        : owner_(owner), request_(std::move(request)) {}
    ~arrival() { owner_.end_arrival(request_, holds_thread_); }
    arrival(const arrival&) = delete;
    arrival& operator=(const arrival&) = delete;

    /// To be called when the request holds the thread. If the request then ends without a run,
    /// waiters for the thread are woken.
    void holds_thread() noexcept { holds_thread_ = true; }
    /// Gives it another runId. A stop that has reached it stays, and one of that runId, kept
    /// earlier, may apply too.
    void rename(std::string run_id);
    /// Returns true if a stop has reached it: it should stop waiting, and its run must end at once.
    [[nodiscard]] bool stopped() const;
    /// Records that a stop has ended it. It is no run, but appeared as one to clients.
    void set_ended_by_stop() noexcept { request_->ended_by_stop = true; }

private:
    friend class run_registry;
    run_registry& owner_;
    std::shared_ptr<arriving> request_;
    bool holds_thread_ = false;
};

class run_registry::stopping {
public:
    /// Returns false if there was nothing to stop.
    [[nodiscard]] bool any() const noexcept { return run_ != nullptr || !requests_.empty(); }
    /// Waits until all of them have ended. Returns true if a run ended by a stop, this one or
    /// another.
    [[nodiscard]] boost::asio::awaitable<bool> wait();

private:
    friend class run_registry;
    std::shared_ptr<live_run> run_;
    std::vector<std::shared_ptr<arriving>> requests_;
};

class run_registry::admission {
public:
    admission(run_registry& owner, std::shared_ptr<const void> minor_place)
        : owner_(owner), minor_place_(std::move(minor_place)) {}
    ~admission() { owner_.end_admission(); }
    admission(const admission&) = delete;
    admission& operator=(const admission&) = delete;

    /// The place of a minor run, which must hold it until its end; null for other runs.
    [[nodiscard]] std::shared_ptr<const void> take_minor_place() noexcept {
        return std::move(minor_place_);
    }

private:
    run_registry& owner_;
    std::shared_ptr<const void> minor_place_;
};

class run_registry::key_lock {
public:
    key_lock(run_registry& owner, key_name name) : owner_(owner), name_(std::move(name)) {}
    ~key_lock() { owner_.unlock_key(name_); }
    key_lock(const key_lock&) = delete;
    key_lock& operator=(const key_lock&) = delete;

private:
    run_registry& owner_;
    key_name name_;
};

class run_registry::watch {
public:
    watch(
        run_registry& owner, conversation_key conversation, std::shared_ptr<change_signal> signal
    );
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    /// Returns when something has happened since the last wait, or at `deadline`. One wait at a
    /// time.
    [[nodiscard]] boost::asio::awaitable<void>
    wait_until(std::chrono::steady_clock::time_point deadline) {
        return signal_->wait_until(deadline);
    }

private:
    run_registry& owner_;
    const conversation_key conversation_;
    const std::shared_ptr<change_signal> signal_;
};

} // namespace agui::gateway
