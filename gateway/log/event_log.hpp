#pragma once

#include "gateway/log/log_readers.hpp"
#include "gateway/log/log_verifier.hpp"
#include "gateway/log/run_events.hpp"
#include "gateway/log/stream_form.hpp"
#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "session/base/mutex.hpp"
#include "session/store/store.hpp"
#include "translator/agui/agui_translator.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::gateway {

/// The events of one run, numbered from 1, appended once by the run and read by any number of
/// readers, each in its own form.
///
/// An event is *visible* to readers once it is durable in the store (P3), or at once if the store
/// keeps no logs or durability is relaxed. The events themselves are in run_events; the log gives
/// them to the store, decides what is visible, and wakes the readers.
///
/// The writer's functions are called on the run's executor, which runs one handler at a time; the
/// other functions on any thread. The mutex is held for a short time only. The writer takes it to
/// append an event, to make events visible and to end the log; what it only reads, or has to
/// itself, needs no lock (own(), `writing`). All readers get the same events, unless deltas are
/// joined (restored()).
class event_log final : public translator::wire_sink,
                        public session::log_observer,
                        public std::enable_shared_from_this<event_log> {
public:
    struct settings {
        /// If null, nothing is stored and events are visible at once.
        session::store* store = nullptr;
        std::int64_t run_number = 0;
        bool visible_before_durable = false; ///< `session.durability = "relaxed"`.
        memory_budget* budget = nullptr;     ///< Counts the log's memory; may be null.
        /// How many times the memory counts until the log has ended, because the run holds other
        /// copies of the text.
        std::size_t copies = 1;
        /// For restored(): read() joins adjacent deltas of one message into one, with the number of
        /// the last (P8). A cursor between them gets the rest of the text.
        bool join_deltas = false;
    };

    event_log(boost::asio::any_io_executor executor, settings options);

    /// The log of an ended run, from all its `entries` in the store.
    [[nodiscard]] static std::shared_ptr<event_log> restored(
        boost::asio::any_io_executor executor, const std::vector<session::log_entry>& entries,
        bool join_deltas = false
    );
    /// The same in pieces: restore() is called with the entries in order, then end_restored(). The
    /// log must not be read before that.
    [[nodiscard]] static std::shared_ptr<event_log>
    begin_restored(boost::asio::any_io_executor executor, memory_budget* budget, bool join_deltas);
    void restore(const std::vector<session::log_entry>& entries);
    void end_restored();

    // The log of another process's run is filled in pieces while it is read: restore(), then
    // show_restored(), and end_restored() at the end.

    /// Makes the restored entries visible.
    void show_restored();

    // Writer.

    /// Sets the run's number in the store, if settings::run_number did not, and its lease (may be
    /// null). Once the lease is lost, readers are shown no more events. To be called before the
    /// first event, or after hold_back().
    void set_run(std::int64_t number, session::lease_ptr held) noexcept;
    /// Until set_run(), events are visible at once but not given to the store, which gets them with
    /// the events that follow. For a run that the store does not know yet.
    void hold_back() noexcept { writing_.held_back = true; }

    /// Appends an event. It is given to the store, or readers are woken, after the current handler
    /// of the executor has returned, or as end_batch() says. From a terminal event on, entries wait
    /// for take_staged().
    void on_event(const translator::wire_event& event) override;

    /// Begins a batch: its events (from one read from the model server) are published together by
    /// end_batch(), without a handler for each. If batches of other logs come right before it, they
    /// are published with those that follow, after the handlers that are ready (log_turn), but
    /// before a terminal event is appended.
    void begin_batch();
    void end_batch();

    /// The entries not yet given to the store, with the terminal. The caller must commit them.
    [[nodiscard]] session::log_slice take_staged();

    /// Returns false if the store lags so far behind this log that its run should pause. Without a
    /// store there is always room.
    [[nodiscard]] bool has_room() const noexcept;
    /// Completes when there is room, or when nothing more will be stored. May be cancelled. One
    /// wait at a time.
    [[nodiscard]] boost::asio::awaitable<void> room();

    /// Makes everything visible and ends the log. To be called once the entries from take_staged()
    /// are durable.
    void publish_end();

    /// Stops making events visible, because the store has failed. Returns the visible ones, as
    /// JSON.
    [[nodiscard]] std::vector<std::string> freeze();
    /// Ends the log with events that the store does not hold; they are sent without a number (the
    /// exception of P3). To be called after freeze().
    void end_without_store(std::vector<std::string> events);
    /// Ends the log of a run that may have moved to another process. Its readers continue in
    /// `next`, which has all events that they were shown, with the same numbers.
    void continue_in(std::shared_ptr<event_log> next);

    /// Ends the log because this process cannot show the rest. Its readers are cut off, and may
    /// reconnect with the number of the last event that they have seen.
    void cut_off_readers();

    /// Sends readers in other processes, which read entries, to the process that will have the
    /// rest. To be called before the log is ended for the other readers.
    void hand_back();

    /// Returns true if the events take more than `most` bytes, or if the budget had no room for
    /// them. (They are kept nevertheless.)
    [[nodiscard]] bool outgrown(std::size_t most) const noexcept;

    // Any thread.

    [[nodiscard]] std::uint64_t last_sequence() const;
    /// The number of the last visible event.
    [[nodiscard]] std::uint64_t visible_sequence() const;
    /// The event with this number, as JSON. Empty if there is none.
    [[nodiscard]] std::string event(std::uint64_t sequence) const;
    /// The approximate memory of the events.
    [[nodiscard]] std::size_t bytes() const;
    [[nodiscard]] bool ended() const;
    /// Returns true if readers that have seen all of it are to be cut off.
    [[nodiscard]] bool cuts_readers_off() const;

    // Readers.

    using cursor = run_events::cursor;

    /// The state of the log behind the events that read() has given.
    struct rest {
        bool ended = false;     ///< The cursor is at the end of the log.
        bool cut_off = false;   ///< read() gave nothing, and the reader is to be cut off.
        bool caught_up = false; ///< More is to come, and nothing of it is there.
        /// read() gave nothing, and the reader continues in this log. If null, it waits here.
        std::shared_ptr<event_log> next{};
    };
    /// Appends the next visible events to `out` in the given form, and moves the cursor past them:
    /// about `max_bytes` at most, but no less than one event if there is one. Appends nothing while
    /// the run is lost to another process, which has the rest.
    [[nodiscard]] rest
    read(cursor& at, const stream_form& form, std::size_t max_bytes, std::string& out) const;

    /// Entries in the store's form, for another gateway that shows them to its readers.
    struct stored_entries {
        session::log_slice slice;
        std::vector<std::string> unnumbered; ///< The unnumbered events that end a log.
        bool ended = false;                  ///< Nothing will follow.
        bool is_elsewhere = false;           ///< Another process has the rest, or will have it.
    };
    /// Fills `out` with the next visible entries, and moves the cursor past them: about `max_bytes`
    /// at most, but no less than one if there is one. Reuses the memory of `out`.
    void read_entries(cursor& at, std::size_t max_bytes, stored_entries& out) const;

    /// The approximate number of bytes that are still to be read in that form.
    [[nodiscard]] std::size_t backlog_bytes(const cursor& at, const stream_form& form) const;

    using waiter = log_readers::waiter;

    /// Completes, on the waiter's executor, when there are visible events after `at`, the log has
    /// ended, or wake(who) is called; or spuriously. Both arguments must outlive the wait.
    [[nodiscard]] boost::asio::awaitable<void> wait(const cursor& at, waiter& who);
    /// Lets `here` wait as wait() does. Returns false, without moving it, if wait() would complete
    /// at once.
    [[nodiscard]] bool wait_again(const cursor& at, waiter& who, resumption& here);
    void wake(waiter& who);

    using leaving = log_readers::leaving;

    /// Counts a reader while it exists; the last-reader handler is called when none is left.
    class reader_token {
    public:
        explicit reader_token(std::shared_ptr<event_log> log);
        ~reader_token();
        reader_token(const reader_token&) = delete;
        reader_token& operator=(const reader_token&) = delete;

        /// The server closes the connection, so the reader will count as cut off.
        void set_cut_off() noexcept { how_ = leaving::cut_off; }
        /// The reader will count as having left by itself (the default).
        void set_left() noexcept { how_ = leaving::left; }

    private:
        leaving how_ = leaving::left;
        std::shared_ptr<event_log> log_;
    };

    [[nodiscard]] std::size_t reader_count() const;
    /// `handler` is called on the log's executor whenever a reader is added or removed, with the
    /// number of readers and, if one was removed, how it left.
    void set_readers_handler(std::function<void(std::size_t, leaving)> handler);
    /// `handler` is called on the run's executor whenever the last reader of an unended log is
    /// removed, with the way it left.
    void set_last_reader_handler(std::function<void(leaving)> handler);

    // The store.

    /// `handler` is called once, on any thread, when the store fails to keep the log.
    void set_failure_handler(std::function<void()> handler);

    // session::log_observer
    void on_durable(std::uint64_t sequence) noexcept override;
    void on_failed() noexcept override;

private:
    friend class log_turn; // Publishes several logs together.

    /// How the log ends after its visible and its unnumbered events.
    struct ending {
        bool is_stored = false; ///< All events, as the store has them.
        bool cuts_off = false;
        std::shared_ptr<event_log> next{};
    };
    /// State that only the writer's functions change, on the executor and with mutex_ held.
    struct written {
        run_events events;
        std::int64_t run_number = 0;
        session::lease_ptr held{};
        std::optional<ending> end{}; ///< Only the first counts.
    };
    /// State that only the writer's functions use. They run one at a time on the executor, so it
    /// needs no lock.
    struct writing {
        std::uint64_t staged_from = 1; ///< The first sequence that was not given to the store.
        bool held_back = false;
        bool in_batch = false;
        bool flush_scheduled = false;
        bool batch_waits = false;  ///< A batch has ended that is to be published with others.
        bool has_terminal = false; ///< A terminal event was appended.
        /// The timer in room() while it waits.
        boost::asio::steady_timer* pause = nullptr;
    };

    /// written_, read by the writer's functions without a lock. Only they change it, and they run
    /// one at a time. Not to be called elsewhere.
    [[nodiscard]] const written& own() const noexcept
        AGUI_THREAD_SAFETY(no_thread_safety_analysis) {
        return written_;
    }
    void schedule_flush();
    void flush();
    [[nodiscard]] bool stage(session::log_slice& slice) noexcept;
    void show_unstored(const session::log_slice& staged) noexcept;
    [[nodiscard]] bool is_stored() const noexcept;
    [[nodiscard]] bool takes_no_more() const noexcept;
    void write_staged(session::log_slice& slice);
    void end(ending how, std::vector<std::string> unnumbered = {});
    enum class stored { no, yes };
    void make_visible(std::uint64_t sequence, stored is_stored);
    [[nodiscard]] std::size_t unstored_bytes(const written& seen) const noexcept;
    void wake_writer() AGUI_REQUIRES(mutex_);
    [[nodiscard]] bool is_elsewhere() const noexcept AGUI_REQUIRES(mutex_);

    const boost::asio::any_io_executor executor_;
    const settings settings_;
    log_verifier verifier_; ///< Used on the executor only.
    writing writing_;
    // The store's reports. They change with mutex_ held: failed_ once, durable_ only upwards. The
    // writer reads them without a lock, because a report may also come just after it unlocks.
    std::atomic<std::uint64_t> durable_{0}; ///< The last sequence reported as durable.
    std::atomic<bool> failed_{false};

    mutable mutex mutex_;
    std::uint64_t visible_ AGUI_GUARDED_BY(mutex_) = 0; ///< The last sequence that readers can see.
    bool frozen_ AGUI_GUARDED_BY(mutex_) = false;
    bool handed_back_ AGUI_GUARDED_BY(mutex_) = false;
    bool writer_waits_ AGUI_GUARDED_BY(mutex_) = false;
    written written_ AGUI_GUARDED_BY(mutex_);
    log_readers readers_ AGUI_GUARDED_BY(mutex_);
    std::function<void()> on_failure_ AGUI_GUARDED_BY(mutex_);
};

/// Calls event_log::restore(). errc::run_expired: an entry is damaged, so the log is unusable.
[[nodiscard]] result<void>
restore_entries(event_log& log, const std::vector<session::log_entry>& entries);

} // namespace agui::gateway
