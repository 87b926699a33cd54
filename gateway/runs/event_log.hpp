#pragma once

#include "gateway/base/resumption.hpp"
#include "gateway/runs/event_texts.hpp"
#include "gateway/runs/stream_form.hpp"
#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "session/store/store.hpp"
#include "translator/agui/agui_translator.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace agui::translator {
class event_verifier;
}

namespace agui::gateway {

/// The events of one run, numbered from 1, appended once by the run and read by any number of
/// readers, each in its own form.
///
/// An event is *visible* to readers once it is durable in the store (P3), or at once if the store
/// keeps no logs or durability is relaxed. Writer functions are called on the run's executor;
/// reader functions and on_durable/on_failed from any thread. The mutex is held for a few
/// instructions only. All readers get the same events, unless deltas are joined (restored()).
class event_log final : public translator::wire_sink,
                        public session::log_observer,
                        public std::enable_shared_from_this<event_log> {
public:
    struct settings {
        session::store* store =
            nullptr; ///< nullptr: nothing is stored, events are visible at once.
        std::int64_t run_number = 0;
        bool visible_before_durable = false; ///< `session.durability = "relaxed"`.
        memory_budget* budget = nullptr;     ///< Counts the log's memory as long as it exists.
        /// How often the events' text counts until the log has ended, for the run's other copies of
        /// it.
        std::size_t copies = 1;
    };

    event_log(boost::asio::any_io_executor executor, settings options);
    ~event_log() override;

    /// The log of an ended run as the store has it: `entries` from sequence 1 to the terminal. With
    /// `join_deltas`, read() joins adjacent deltas of one message into one, with the number of the
    /// last (P8); a cursor between them gets the rest of the text.
    [[nodiscard]] static std::shared_ptr<event_log> restored(
        boost::asio::any_io_executor executor, const std::vector<session::log_entry>& entries,
        bool join_deltas = false
    );
    /// The same in pieces: restore() the entries in order, then end_restored(). It must not be read
    /// before that.
    [[nodiscard]] static std::shared_ptr<event_log>
    begin_restored(boost::asio::any_io_executor executor, memory_budget* budget, bool join_deltas);
    void restore(const std::vector<session::log_entry>& entries);
    void end_restored();

    /// The log of an ended run whose events are gone: it ends at `last_sequence`.
    [[nodiscard]] static std::shared_ptr<event_log>
    empty_at(boost::asio::any_io_executor executor, std::uint64_t last_sequence);

    /// The contents of log_slice::variants for an event: its forms for older projections (nullopt:
    /// as for the newest).
    [[nodiscard]] static std::string write_variants(
        const std::optional<std::string>& v1_0, const std::optional<std::string>& undeclared
    );

    // Writer.

    /// The run's number in the store, if settings::run_number did not give it. To be called before
    /// the first event.
    void set_run_number(std::int64_t number) noexcept { settings_.run_number = number; }

    /// Appends an event. It is handed to the store, and readers are woken, after the current
    /// handler of the executor has returned, or at the end of the batch. Once a terminal event has
    /// been appended, entries wait for take_staged().
    void on_event(const translator::wire_event& event) override;

    /// Starts a batch: the events of one upstream read are published together, without a handler
    /// each.
    void begin_batch();
    void end_batch();

    /// The entries not yet handed to the store, including the terminal, for a commit that includes
    /// them.
    [[nodiscard]] session::log_slice take_staged();

    /// False: the store is so far behind with this log that its run should pause. Without a store
    /// there is always room.
    [[nodiscard]] bool has_room() const noexcept;
    /// Completes when there is room again, or nothing will be stored any more. Cancellable. One
    /// wait at a time.
    [[nodiscard]] boost::asio::awaitable<void> room();

    /// What take_staged() returned is durable: everything appended is visible, the log has ended.
    void publish_end();

    /// Makes no more events visible, because the store has failed. Returns the visible ones, as
    /// JSON.
    [[nodiscard]] std::vector<std::string> freeze();
    /// Ends the log with events that the store does not hold, sent without a number (P3's
    /// exception). After freeze().
    void end_without_store(const std::vector<std::string>& events);

    [[nodiscard]] std::uint64_t last_sequence() const;
    /// The approximate memory of the events in bytes.
    [[nodiscard]] std::size_t bytes() const;
    /// True if they are more than `most`, or more than the budget has room for. (They are kept
    /// anyway.)
    [[nodiscard]] bool outgrown(std::size_t most) const;

    // Readers.

    /// A place in the log, seen through a projection.
    struct cursor {
        translator::projection projection = translator::projection::v1_1;
        std::uint64_t after = 0;   ///< Sequence number of the last event read.
        std::size_t tail_read = 0; ///< How many of the events without a number were read.
    };

    /// Appends the next visible events to `out` in the given form and moves the cursor after them:
    /// about `max_bytes` at most, but at least one event. True: the cursor is at the end and
    /// nothing will follow.
    [[nodiscard]] bool
    read(cursor& at, const stream_form& form, std::size_t max_bytes, std::string& out);

    /// The approximate number of bytes still to be read in that form.
    [[nodiscard]] std::size_t backlog_bytes(const cursor& at, const stream_form& form) const;

    /// The place where a reader waits. Exists as long as its reader; one wait at a time.
    class waiter {
    public:
        explicit waiter(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
        [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept {
            return executor_;
        }

    private:
        friend class event_log;
        boost::asio::any_io_executor executor_;
        resumption resumption_;
    };

    /// Completes, on the waiter's executor, when more than `at` is visible, the log has ended, or
    /// wake(waiter) is called. May complete spuriously.
    [[nodiscard]] boost::asio::awaitable<void> wait(const cursor& at, waiter& who);
    void wake(waiter& who);

    /// How a reader ends: by itself, or because the server closed its connection.
    enum class leaving { left, cut_off };

    /// Counts a reader while it exists; the last-reader handler is called when none is left.
    class reader_token {
    public:
        explicit reader_token(std::shared_ptr<event_log> log);
        ~reader_token();
        reader_token(const reader_token&) = delete;
        reader_token& operator=(const reader_token&) = delete;

        /// Records that the server cut the reader off.
        void set_cut_off() noexcept { how_ = leaving::cut_off; }

    private:
        leaving how_ = leaving::left;
        std::shared_ptr<event_log> log_;
    };

    /// Called once, on any thread, when the store has lost the log.
    void set_failure_handler(std::function<void()> handler);
    /// `handler` is called on the run's executor each time the last reader of an unfinished log
    /// ends, with how it ended.
    void set_last_reader_handler(std::function<void(leaving)> handler);
    [[nodiscard]] std::size_t reader_count() const;
    /// The number of the last visible event.
    [[nodiscard]] std::uint64_t visible_sequence() const;
    [[nodiscard]] bool ended() const;

    // session::log_observer
    void on_durable(std::uint64_t sequence) noexcept override;
    void on_failed() noexcept override;

private:
    /// The JSON of an event for older projections; nullopt: as for the newest, empty: none.
    struct variant_entry {
        std::uint64_t sequence;
        std::optional<std::string> v1_0;
        std::optional<std::string> undeclared;
    };

    void count(std::size_t bytes);
    void append_event(std::string_view json);
    [[nodiscard]] const std::optional<std::string>*
    older_form(const cursor& at, std::uint64_t sequence) const;
    void schedule_flush();
    void flush();
    void write_staged(session::log_slice& slice);
    enum class stored { no, yes };
    void make_visible(std::uint64_t sequence, stored is_stored);
    [[nodiscard]] std::size_t unstored_bytes() const noexcept;
    void wake_writer();
    /// Usually one: then nothing is allocated.
    using resumptions = boost::container::small_vector<resumption, 2>;
    void take_waiters(resumptions& ready);
    static void resume(resumptions& ready);
    void reader_left(leaving how);
    void verify(const translator::wire_event& event);

    const boost::asio::any_io_executor executor_;
    settings settings_;

    mutable std::mutex mutex_;
    memory_share share_;
    std::size_t held_bytes_ = 0; ///< Approximate memory.
    bool over_budget_ = false;
    event_texts events_;
    std::vector<variant_entry> variants_;
    std::vector<std::string> tail_; ///< The events without a number, as JSON.
    std::uint64_t staged_from_ = 1; ///< First sequence not handed to the store.
    std::uint64_t visible_ = 0;
    std::uint64_t durable_ = 0; ///< Last sequence that the store reported durable.
    bool writer_waits_ = false;
    boost::asio::steady_timer* writer_ =
        nullptr; ///< The writer's timer while it waits; on the executor.
    bool in_batch_ = false;
    bool flush_scheduled_ = false;
    bool terminal_staged_ = false;
    bool ended_ = false;
    bool failed_ = false;
    bool frozen_ = false;
    bool joins_deltas_ = false;
    std::vector<waiter*> waiters_;
    std::size_t readers_ = 0;
    std::function<void(leaving)> on_last_reader_left_;
    std::function<void()> on_failure_;

    std::unique_ptr<translator::event_verifier> verifier_; ///< Debug builds.
    std::unique_ptr<translator::event_verifier> undeclared_verifier_;
};

} // namespace agui::gateway
