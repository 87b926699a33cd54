#pragma once

#include "gateway/base/completion_event.hpp"
#include "gateway/log/event_log.hpp"
#include "gateway/run/conversation_key.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/queued_request.hpp"
#include "session/conversation/thread.hpp"

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace agui::gateway {

/// A run that answers several queued requests at once. Shared by them.
struct queue_pass {
    std::string run_id;                ///< The run's, which is often that of one of the requests.
    std::vector<std::int64_t> numbers; ///< The requests' in the store's queue.
    /// It is over, with a failure if the run could not begin. Locked by its queue.
    bool over = false;
    std::optional<failure> failed;
};

/// A request of this process whose messages wait in its thread's queue. Its client is shown a run
/// that has started.
struct waiting_run {
    conversation_key place;
    session::run_record record; ///< As far as it is known; started_at: when it was queued.
    std::shared_ptr<event_log> log;
    completion_event over; ///< It has become an active run, or has ended.

    // Locked by its queue:
    std::int64_t number = 0;          ///< In the store's queue; 0: not stored yet.
    std::shared_ptr<queue_pass> pass; ///< Null: no run has taken its messages.
    bool leaves = false;              ///< Its message is being withdrawn.
};

/// The requests of this process that wait in the queues of threads. The messages are in the store
/// (session::store::enqueue), and may be there without a request here, such as after a restart. All
/// functions may be called from any thread.
class run_queue {
public:
    run_queue() = default;
    run_queue(const run_queue&) = delete;
    run_queue& operator=(const run_queue&) = delete;

    /// To be called before its messages are stored, so that a run that takes them finds it.
    void add(const std::shared_ptr<waiting_run>& request);
    void set_stored(waiting_run& request, std::int64_t number);
    /// Also says that it is over. Does nothing if it was removed already.
    void remove(const std::shared_ptr<waiting_run>& request) noexcept;

    /// Null: no such request waits.
    [[nodiscard]] std::shared_ptr<waiting_run>
    find(const conversation_key& place, const std::string& run_id) const;
    [[nodiscard]] std::shared_ptr<waiting_run>
    find_by_key(const conversation_key& place, const std::string& idempotency_key) const;

    /// The numbers of all that are stored, and of those that are being picked up.
    [[nodiscard]] std::vector<std::int64_t> numbers() const;
    /// A request in the store's queue is to wait here, until add(), or is not to be answered.
    void begin_pick_up(std::int64_t number);
    void end_pick_up(std::int64_t number) noexcept;

    /// True: requests of the thread wait that no run has taken.
    [[nodiscard]] bool is_awaited(const conversation_key& place) const;
    /// When the newest of them was queued; 0: there is none.
    [[nodiscard]] unix_ms newest(const conversation_key& place) const;
    /// True: it is the one of them that was queued first. That one begins the next run.
    [[nodiscard]] bool is_first(const waiting_run& request) const;

    struct taken {
        std::vector<session::queued_request> requests; ///< In order.
        std::shared_ptr<queue_pass> pass;
    };
    /// Lets a run take those of `queued`, the thread's queue in the store, that are for its agent
    /// and not being withdrawn. Those that wait in this process now belong to its pass.
    [[nodiscard]] taken take(
        const conversation_key& place, const std::string& run_id, const std::string& agent_id,
        std::vector<session::queued_request> queued
    );

    /// Undoes take(): the run does not begin now, and those of its pass wait as before.
    void put_back(const conversation_key& place, const queue_pass& pass);

    /// False: a run has taken its messages, so they cannot be withdrawn. Otherwise no run will.
    [[nodiscard]] bool leave(waiting_run& request);

    /// The pass that it belongs to; null: none.
    [[nodiscard]] std::shared_ptr<queue_pass> pass_of(const waiting_run& request) const;
    void end_pass(queue_pass& pass, std::optional<failure> failed);
    [[nodiscard]] bool is_over(const queue_pass& pass) const;

private:
    using waiting_list = std::list<std::shared_ptr<waiting_run>>;

    template <class Which>
    [[nodiscard]] std::shared_ptr<waiting_run>
    find_where(const conversation_key& place, Which which) const;

    mutable mutex mutex_;
    std::map<conversation_key, waiting_list> by_place_ AGUI_GUARDED_BY(mutex_);
    std::set<std::int64_t> picked_up_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
