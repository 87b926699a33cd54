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

/// The queued requests that one run answers. Shared by them.
struct queue_batch {
    std::string run_id; ///< The run's id, which is often that of one of the requests.
    std::vector<std::int64_t> numbers; ///< The requests' numbers in the store's queue.
    /// Set when it is over, with a failure if the run could not begin. Locked by its queue.
    bool over = false;
    std::optional<failure> failed;
};

/// A request of this process whose messages wait in its thread's queue. To its client it appears as
/// a started run.
struct waiting_run {
    conversation_key conversation;
    session::run_record record; ///< The known part; started_at is when it was queued.
    unix_ms waits_since = 0;    ///< As in session::queued_request.
    std::shared_ptr<event_log> log;
    completion_event over; ///< It has become an active run, or has ended.

    // Locked by its queue:
    std::int64_t number = 0;            ///< In the store's queue; 0 until stored.
    std::shared_ptr<queue_batch> batch; ///< Null if no run has taken its messages.
    bool leaves = false;                ///< Its message is being withdrawn.
};

/// The part of a waiting request's run record that is known.
[[nodiscard]] session::run_record record_of(const session::queued_request& request);

/// The requests of this process that wait in the queues of threads. The messages are in the store
/// (session::store::enqueue), where they may also be without a request here, for example after a
/// restart. All functions may be called from any thread.
class run_queue {
public:
    run_queue() = default;
    run_queue(const run_queue&) = delete;
    run_queue& operator=(const run_queue&) = delete;

    /// To be called before its messages are stored, so that a run that takes them finds it.
    void add(const std::shared_ptr<waiting_run>& request);
    void set_stored(waiting_run& request, std::int64_t number);
    /// Also sets `over`. Does nothing if it was already removed.
    void remove(const std::shared_ptr<waiting_run>& request) noexcept;

    /// Returns null if no such request waits.
    [[nodiscard]] std::shared_ptr<waiting_run>
    find(const conversation_key& conversation, const std::string& run_id) const;
    [[nodiscard]] std::shared_ptr<waiting_run>
    find_by_key(const conversation_key& conversation, const std::string& idempotency_key) const;

    /// The numbers of all stored requests, and of those being picked up.
    [[nodiscard]] std::vector<std::int64_t> numbers() const;
    /// Marks a request in the store's queue as being picked up, until add() or because it must not
    /// be answered.
    void begin_pick_up(std::int64_t number);
    void end_pick_up(std::int64_t number) noexcept;

    /// Returns true if requests of the thread wait that no run has taken.
    [[nodiscard]] bool is_awaited(const conversation_key& conversation) const;
    /// Since when the newest of them waits, in shared time; 0 if there is none.
    [[nodiscard]] unix_ms newest(const conversation_key& conversation) const;
    /// Returns true if it is the first of them in the queue, which begins the next run.
    [[nodiscard]] bool is_first(const waiting_run& request) const;

    struct taken {
        std::vector<session::queued_request> requests; ///< In order.
        std::shared_ptr<queue_batch> batch;
    };
    /// Lets a run take the requests for its agent from `queued`, the thread's queue in the store,
    /// except those being withdrawn. Taken requests that wait in this process then belong to its
    /// batch.
    [[nodiscard]] taken take(
        const conversation_key& conversation, const std::string& run_id,
        const std::string& agent_id, std::vector<session::queued_request> queued
    );

    /// Undoes take(): the run does not begin, and the requests of its batch wait as before.
    void put_back(const conversation_key& conversation, const queue_batch& batch);

    /// Marks the request as leaving, so that no run takes its messages. Returns false if a run
    /// already has, so they cannot be withdrawn.
    [[nodiscard]] bool leave(waiting_run& request);

    /// The batch that it belongs to, or null.
    [[nodiscard]] std::shared_ptr<queue_batch> batch_of(const waiting_run& request) const;
    void set_over(queue_batch& batch, std::optional<failure> failed);
    [[nodiscard]] bool is_over(const queue_batch& batch) const;

private:
    using waiting_list = std::list<std::shared_ptr<waiting_run>>;

    template <class Which>
    [[nodiscard]] std::shared_ptr<waiting_run>
    find_where(const conversation_key& conversation, Which which) const;

    mutable mutex mutex_;
    std::map<conversation_key, waiting_list> by_conversation_ AGUI_GUARDED_BY(mutex_);
    std::set<std::int64_t> picked_up_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
